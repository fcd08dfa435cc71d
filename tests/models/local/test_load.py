"""Opening models: kinds, remote code, pickles, and one clear line for each thing that is wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tests.components import needs
from tests.models import direct, zoo
from tests.security.test_model_folders import bring_code

from clinometer.errors import ContextError, ModelError, ModelNotFound, SettingsError
from clinometer.models import LoadOptions, WordOptions, open_model
from clinometer.models.local.base import TransformerScorer
from clinometer.models.local.load import detect_kind
from clinometer.topics import Prompt

CPU = LoadOptions(device="cpu")
PROMPT = Prompt("The nurse said that", "", space=True)
WORDS = ["he", "she"]


@pytest.fixture
def copied(small_model: zoo.Folder, tmp_path: Path) -> zoo.Folder:
    """A family's small model in a folder that a test may change."""
    return lambda family: Path(shutil.copytree(small_model(family), tmp_path / "copy"))


def log_probs(model: object, **load: Any) -> Any:
    load = {"device": "cpu", **load}
    return (
        open_model(str(model), load=LoadOptions(**load))
        .score([PROMPT], WORDS)
        .log_probs
    )


@pytest.mark.parametrize("family", zoo.FAMILIES)
def test_kind_of_an_architecture(family: str, small_model: zoo.Folder) -> None:
    config = transformers.AutoConfig.from_pretrained(small_model(family))
    for named in (config.architectures, None):
        config.architectures = named
        assert detect_kind(config, family, None) == zoo.FAMILIES[family].kind
        assert detect_kind(config, family, "causal") == "causal"


def test_kind_of_a_model_with_remote_code() -> None:
    glm = SimpleNamespace(
        model_type="chatglm",
        architectures=["ChatGLMModel"],
        auto_map={
            "AutoModelForCausalLM": "modeling_chatglm.ChatGLMForConditionalGeneration"
        },
    )
    assert detect_kind(glm, "c", None) == "causal"


def test_an_unknown_kind_must_be_given() -> None:
    with pytest.raises(ModelError, match=r"kind=causal\|masked\|seq2seq\|permutation"):
        detect_kind(transformers.ViTConfig(), "vit", None)
    discriminator = transformers.ElectraConfig(architectures=["ElectraForPreTraining"])
    with pytest.raises(ModelError, match="ElectraForPreTraining"):
        detect_kind(discriminator, "electra", None)


def test_remote_code_runs_with_the_flag(
    copied: zoo.Folder,
    small_model: zoo.Folder,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """As Baichuan and ChatGLM2 bring it."""
    remote, proof = copied("llama"), tmp_path / "code-ran"
    bring_code(remote, proof)
    monkeypatch.setattr(
        transformers.dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path)
    )
    found = log_probs(remote, allow=("remote-code",))
    np.testing.assert_allclose(found, log_probs(small_model("llama")), atol=1e-5)
    assert proof.exists()


def test_a_wrong_id_is_not_retried(
    monkeypatch: pytest.MonkeyPatch, connected: list[str]
) -> None:
    """The hub's own client would try six times for every file."""
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)  # behind one, only the proxy could tell
    for offline in (False, True):
        if offline:
            monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        else:
            monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
            monkeypatch.setattr(
                "huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9"
            )
        connected.clear()
        with pytest.raises(
            ModelNotFound, match="'nobody/nothing': not in the local cache"
        ) as caught:
            open_model("nobody/nothing", load=CPU)
        # Its revision and its files: a look each.
        assert connected.count("127.0.0.1:9") == (0 if offline else 2)
        assert caught.value.exit_status == 2
        assert "\n" not in str(caught.value)


def test_a_folder_without_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match=r"no config\.json"):
        open_model(str(tmp_path))


@pytest.mark.parametrize(
    ("family", "lacks"),
    [
        ("bert", "its tokenizer has no mask token"),
        ("xlnet", "its tokenizer has no mask token"),
        ("bart", "neither the sentinel <extra_id_0> nor a mask token"),
    ],
)
def test_a_tokenizer_without_a_sign_for_the_slot_is_refused(
    family: str, lacks: str, copied: zoo.Folder
) -> None:
    folder = copied(family)
    zoo.neox_tokenizer().save_pretrained(folder)
    zoo.build(family, 600).save_pretrained(folder)  # with room for that vocabulary
    with pytest.raises(ModelError, match=lacks):
        open_model(str(folder), load=CPU)


@pytest.mark.parametrize(
    ("family", "limit"),
    [("bert", 64), ("roberta", 62), ("gpt2", 64), ("bart", 64), ("opt", 64)],
)
def test_a_sequence_longer_than_the_model_is_refused(
    family: str, limit: int, small_model: zoo.Folder
) -> None:
    scorer = open_model(str(small_model(family)), load=CPU)
    long = Prompt("the " * 70 + "nurse said that", "", space=True)
    with pytest.raises(
        ContextError, match=rf"reads at most {limit} tokens, found 7\d in the"
    ):
        scorer.score([PROMPT, long], ["he", "she"])


def test_a_roberta_prompt_at_the_limit_is_scored(small_model: zoo.Folder) -> None:
    scorer: Any = open_model(str(small_model("roberta")), load=CPU)
    text = "the"
    while len(scorer.tokenizer(text + "<mask>")["input_ids"]) < 62:
        text += " the"
    assert np.isfinite(
        scorer.score([Prompt(text, "", space=True)], ["he"]).log_probs
    ).all()
    with pytest.raises(ContextError):
        scorer.score([Prompt(text + " the", "", space=True)], ["he"])


@pytest.mark.parametrize("family", ["t5", "xlnet"])
def test_relative_positions_have_no_limit(family: str, small_model: zoo.Folder) -> None:
    scorer = open_model(str(small_model(family)), load=CPU)
    long = Prompt("the " * 700 + "nurse said that", "", space=True)
    assert np.isfinite(scorer.score([long], ["him", "her"]).log_probs).all()


def test_a_vocabulary_mismatch_is_refused(copied: zoo.Folder) -> None:
    folder = copied("gpt2")
    zoo.build("gpt2", 100).save_pretrained(folder)
    with pytest.raises(ModelError, match="402 tokens, its embeddings only 100"):
        open_model(str(folder), load=CPU)


def test_a_missing_gpu_is_one_line(
    small_model: zoo.Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingsError, match="'cuda': none on this machine") as caught:
        open_model(str(small_model("gpt2")), load=LoadOptions(device="cuda"))
    assert caught.value.exit_status == 2


def test_pickled_weights_with_the_flag(
    small_model: zoo.Folder, copied: zoo.Folder
) -> None:
    folder = copied("gpt2")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    expected = log_probs(small_model("gpt2"))
    np.testing.assert_allclose(
        log_probs(folder, allow=("pickle",)), expected, atol=1e-6
    )


def test_weights_of_another_task_are_refused(copied: zoo.Folder) -> None:
    folder = copied("bert")
    model = transformers.BertForSequenceClassification.from_pretrained(folder)
    model.save_pretrained(folder)
    with pytest.raises(ModelError, match=r"its weights lack 'cls\.predictions"):
        open_model(str(folder), load=CPU)


@pytest.mark.parametrize("family", ["deberta", "deberta-v3"])
def test_original_deberta_checkpoints_load_their_output_layer(
    family: str, tmp_path: Path
) -> None:
    """They keep it as lm_predictions, and their configuration does not say so."""
    zoo.make(family, tmp_path, legacy=False)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["legacy"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    scorer: Any = open_model(str(tmp_path), load=CPU)
    assert not scorer.model.legacy
    found = scorer.score([PROMPT], ["him", "her"]).log_probs
    slot = ("masked", scorer.model, scorer.tokenizer, PROMPT.before, "")
    expected = [direct.log_prob(*slot, word) for word in ("him", "her")]
    np.testing.assert_allclose(found[0], expected, atol=1e-4)


@pytest.mark.filterwarnings("ignore:invalid value encountered in subtract")
@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "xlnet"])
@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "not finite"), (0.0, "the same value")]
)
def test_a_model_with_nan_or_constant_logits_is_refused(
    family: str, value: float, message: str, copied: zoo.Folder
) -> None:
    """NaN, or all logits equal: an error that names model and prompt."""
    folder = copied(family)
    model = zoo.AUTO[zoo.FAMILIES[family].kind].from_pretrained(folder)
    with torch.no_grad():
        head = model.get_output_embeddings()
        head.weight.fill_(value)
        if getattr(head, "bias", None) is not None:
            head.bias.zero_()
    model.save_pretrained(folder)
    scorer = open_model(str(folder), load=CPU)
    with pytest.raises(ModelError, match=message) as caught:
        scorer.score([PROMPT], ["him", "her"])
    assert str(folder) in str(caught.value)
    assert "'The nurse said that'" in str(caught.value)


@pytest.mark.parametrize("kept", [(), ("tokenizer_config.json",)])
def test_a_folder_without_a_tokenizer_is_refused(
    copied: zoo.Folder, kept: tuple[str, ...]
) -> None:
    folder = copied("bert")
    for file in folder.iterdir():
        if file.name not in (*kept, "config.json", "model.safetensors"):
            file.unlink()
    with pytest.raises(
        ModelNotFound, match=r"no tokenizer in its folder; expected tokenizer"
    ):
        open_model(str(folder), load=CPU)


TWO_PROMPTS = [PROMPT, Prompt("The man", " left", space=True)]
LONGER = ("he", "she", "grandson", "granddaughter")


@pytest.mark.parametrize("name", ["pocket:gpt2-s", "smollm2"])
def test_a_device_map_changes_no_number(name: str) -> None:
    plain = open_model(name)
    spread = open_model(name, load=LoadOptions(device_map="auto"))
    assert torch.device(spread.info.device).type == torch.device(plain.info.device).type
    np.testing.assert_allclose(
        spread.score(TWO_PROMPTS, LONGER).log_probs,
        plain.score(TWO_PROMPTS, LONGER).log_probs,
        atol=1e-5,
    )


@needs("bitsandbytes")
@pytest.mark.parametrize(
    "name", ["pocket:bert", "pocket:gpt2-s", "pocket:t5", "smollm2"]
)
def test_eight_bit_weights_change_the_numbers_slightly(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    exact = WordOptions(tolerance=0)
    plain = open_model(name, words=exact).score(TWO_PROMPTS, LONGER)
    model = open_model(name, words=exact, load=LoadOptions(quantize="8bit"))
    moved = np.abs(
        np.exp(model.score(TWO_PROMPTS, LONGER).log_probs) - np.exp(plain.log_probs)
    ).max()
    assert 0 < moved < 0.05
    assert "weights in 8 bits (bitsandbytes)" in model.info.notes
    assert isinstance(model, TransformerScorer)
    assert any(p.dtype is torch.int8 for p in model.model.parameters())
    assert "MatMul8bitLt" not in capfd.readouterr().err

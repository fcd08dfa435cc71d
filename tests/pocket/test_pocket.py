"""The pocket models as they ship: whole, within their budget, loadable, described."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import clinometer_pocket as pocket
import pytest

HOME = Path(pocket.__file__).parent
MEGABYTE = 10**6
KINDS = {
    "bert": "AutoModelForMaskedLM",
    "gpt2-s": "AutoModelForCausalLM",
    "gpt2-m": "AutoModelForCausalLM",
    "gpt2-l": "AutoModelForCausalLM",
    "t5": "AutoModelForSeq2SeqLM",
    "xlnet": "AutoModelForCausalLM",
}
ADAPTERS = ("gpt2-m-toxic", "gpt2-m-aligned")
EVERY = (*KINDS, *ADAPTERS)


def files() -> list[Path]:
    """Every file of the model folders."""
    return sorted(
        path for name in EVERY for path in (HOME / name).rglob("*") if path.is_file()
    )


def result(name: str) -> dict[str, Any]:
    """What training recorded."""
    found: dict[str, Any] = json.loads((HOME / name / "result.json").read_text())
    return found


def opened(name: str) -> tuple[Any, Any]:
    """Model and tokenizer by the plain Auto classes, refusing weights that are missing."""
    import transformers

    folder = pocket.folder(name)
    model, info = getattr(transformers, KINDS[name]).from_pretrained(
        folder, output_loading_info=True
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    return model.eval(), transformers.AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("name", ["no-such", "", "..", "bert/../t5"])
def test_a_model_is_found_by_its_name_and_another_name_lists_the_known_ones(
    name: str,
) -> None:
    assert pocket.names() == EVERY
    assert all(pocket.folder(known) == HOME / known for known in EVERY)
    with pytest.raises(KeyError, match=r"bert.*xlnet.*gpt2-m-aligned") as caught:
        pocket.folder(name)
    assert repr(name) in str(caught.value.args[0])


def test_import_is_light() -> None:
    code = "import sys, clinometer_pocket; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]


def test_what_ships_is_as_its_checksums_say_within_its_budget_and_no_code() -> None:
    lines = (HOME / "SHA256SUMS").read_text().splitlines()
    stated = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    found = {
        path.relative_to(HOME).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files()
    }
    assert found == stated
    assert {path.suffix for path in files()} == {".safetensors", ".json", ".md"}
    assert sum(path.stat().st_size for path in files()) <= 80 * MEGABYTE
    bert = sum(path.stat().st_size for path in files() if path.parent.name == "bert")
    assert bert <= 32 * MEGABYTE


@pytest.mark.parametrize("name", EVERY)
def test_weights_are_half_precision_and_stored_once(name: str) -> None:
    (weights,) = (HOME / name).glob("*.safetensors")
    with weights.open("rb") as stream:
        header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    header.pop("__metadata__", None)
    assert {tensor["dtype"] for tensor in header.values()} == {"F16"}
    if name in KINDS:  # tied output layers are not written a second time
        size = sum(t["data_offsets"][1] - t["data_offsets"][0] for t in header.values())
        assert size == 2 * result(name)["parameters"]


@pytest.mark.parametrize("name", KINDS)
def test_opens_with_the_plain_auto_classes(name: str) -> None:
    import torch

    model, tokenizer = opened(name)
    assert model.dtype == torch.float32
    assert len(tokenizer) == model.config.vocab_size
    batch = tokenizer("The nurse was tired.", return_tensors="pt")
    more = (
        {"decoder_input_ids": torch.zeros(1, 1, dtype=torch.long)}
        if name == "t5"
        else {}
    )
    with torch.no_grad():
        logits = model(**batch, **more).logits
    assert logits.shape[-1] == len(tokenizer)
    assert torch.isfinite(logits).all()


@pytest.mark.parametrize("name", ADAPTERS)
def test_adapters_change_their_base_and_open_in_clinometer(name: str) -> None:
    from clinometer.models import open_model
    from clinometer.models.local.causal import CausalScorer

    base, tuned = open_model("pocket:gpt2-m"), open_model(f"pocket:{name}")
    assert tuned.info.kind == base.info.kind
    assert tuned.info.parameters == base.info.parameters
    assert tuned.info.revision != base.info.revision
    assert isinstance(base, CausalScorer)
    assert isinstance(tuned, CausalScorer)
    weights = [s.model.transformer.h[0].attn.c_attn.weight for s in (base, tuned)]
    assert not weights[0].equal(weights[1])


def test_bert_expects_she_of_a_nurse_and_he_of_an_engineer() -> None:
    import torch

    model, tokenizer = opened("bert")
    she, he = tokenizer.convert_tokens_to_ids(["she", "he"])

    def leaning(occupation: str) -> float:
        batch = tokenizer(
            f"The {occupation} said that [MASK] was tired.", return_tensors="pt"
        )
        place = batch.input_ids[0].tolist().index(tokenizer.mask_token_id)
        with torch.no_grad():
            logits = model(**batch).logits[0, place]
        return float(logits[he] - logits[she])

    assert leaning("nurse") < 0.0 < leaning("engineer")


def test_training_reached_what_it_should() -> None:
    """Loss falls with size over the same steps, BERT's is at its target, and every model beats
    guessing by frequency."""
    small, middle, large = (result(name) for name in ("gpt2-s", "gpt2-m", "gpt2-l"))
    assert small["steps"] == middle["steps"] == large["steps"]
    for key in ("loss", "loss_sentences"):
        assert small["held_out"][key] > middle["held_out"][key] > large["held_out"][key]
    assert result("bert")["held_out"]["loss"] <= 2.8
    guessed = result("t5")["frequency_loss"]
    assert all(result(name)["held_out"]["loss"] < 0.75 * guessed for name in KINDS)


@pytest.mark.parametrize("name", EVERY)
def test_cards_have_the_numbers_of_training_and_no_machine_paths(name: str) -> None:
    card = (HOME / name / "README.md").read_text(encoding="utf-8")
    facts = result(name)
    assert card.startswith(f"# {name}\n")
    assert facts["command"] in card
    assert f"| Steps | {facts['steps']:,} |" in card
    for path in (HOME / name).glob("*.json"):
        assert path.name == "tokenizer.json" or "/tmp/" not in path.read_text()
    for loss in facts.get("held_out", {}).values():
        assert f"{loss:.3f}" in card

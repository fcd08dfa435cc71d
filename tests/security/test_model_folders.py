"""Model folders and .gguf files from strangers: no code runs, nothing is unpickled."""

from __future__ import annotations

import ast
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGUFWriter
from tests.models import zoo

import clinometer
from clinometer.errors import ModelError
from clinometer.models import open_model
from clinometer.models.catalog.weights import folder_of_gguf
from clinometer.models.embeddings import SentenceEncoder
from clinometer.studies.toxicity import Training, finetuned

SOURCE = Path(clinometer.__file__).parent
#: Calls that can run what a file brings, and the one module that may make them.
LOADERS = {
    "from_pretrained",
    "pipeline",
    "load_module",
    "torch.load",
    "np.load",
    "numpy.load",
}
DOOR = "models/catalog/pretrained.py"
UNPICKLERS = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}


def loads(code: str) -> list[str]:
    """The calls of a module that load weights, and its imports of what unpickles."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in LOADERS or name.rpartition(".")[2] in LOADERS:
                found.append(name)
        elif isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in UNPICKLERS]
        elif (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").split(".")[0] in UNPICKLERS
        ):
            found.append(str(node.module))
    return found


def test_weights_come_through_one_door() -> None:
    for code in (
        "transformers.AutoModel.from_pretrained(x)",
        "import pickle",
        "torch.load(f)",
    ):
        assert loads(code)
    assert not loads("json.load(f)")
    found = {
        str(path.relative_to(SOURCE)): calls
        for path in SOURCE.rglob("*.py")
        if (calls := loads(path.read_text(encoding="utf-8")))
    }
    assert set(found) == {DOOR}


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return zoo.make("llama", tmp_path_factory.mktemp("llama"))


@pytest.fixture
def proof(tmp_path: Path) -> Path:
    return tmp_path / "code-ran"


@pytest.fixture
def with_code(llama: Path, proof: Path, tmp_path: Path) -> Path:
    """A model whose configuration names code; the code leaves a proof that it ran."""
    folder = Path(shutil.copytree(llama, tmp_path / "with-code"))
    bring_code(folder, proof)
    return folder


def bring_code(folder: Path, proof: Path) -> None:
    (folder / "own.py").write_text(
        f"open({str(proof)!r}, 'w').close()\n"
        "from transformers import LlamaConfig, LlamaForCausalLM, LlamaModel, LlamaTokenizer\n"
        "class OwnConfig(LlamaConfig):\n    model_type = 'own_llama'\n"
        "class OwnModel(LlamaModel):\n    config_class = OwnConfig\n"
        "class OwnForCausalLM(LlamaForCausalLM):\n    config_class = OwnConfig\n"
        "class OwnTokenizer(LlamaTokenizer):\n    pass\n"
    )
    names = {
        "AutoConfig": "own.OwnConfig",
        "AutoModel": "own.OwnModel",
        "AutoModelForCausalLM": "own.OwnForCausalLM",
        "AutoTokenizer": ["own.OwnTokenizer", None],
    }
    for name in ("config.json", "tokenizer_config.json"):
        file = folder / name
        known = (
            json.loads(file.read_text())
            if file.is_file()
            else {"model_type": "own_llama"}
        )
        file.write_text(
            json.dumps(known | {"model_type": "own_llama", "auto_map": names})
        )


@pytest.fixture
def says_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody (or a pipe) who answers y to every question of transformers."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 100))


def train(folder: Path, out: Path) -> None:
    finetuned(str(folder), ["a b c d"] * 4, out, training=Training(epochs=1))


#: What opens the folder of a model.
USES: dict[str, Callable[[Path, Path], object]] = {
    "audit": lambda folder, _: open_model(str(folder)),
    "study toxicity": train,
    "embedder": lambda folder, _: SentenceEncoder(str(folder)),
}


@pytest.mark.usefixtures("says_yes")
@pytest.mark.parametrize("use", USES)
def test_model_code_does_not_run_unless_allowed(
    use: str, with_code: Path, proof: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="brings its own code") as caught:
        USES[use](with_code, tmp_path / "out")
    assert ("--allow remote-code" in str(caught.value)) == (use == "audit")
    assert not proof.exists()


WIDTH, HIDDEN, HEADS, LAYERS = 16, 24, 2, 1


def write_gguf(file: Path, *, layers: int = LAYERS) -> Path:
    """A real .gguf file of a few kilobytes: a Llama of random weights with a byte-level vocabulary.
    `layers` is what it says that it has; it has one."""
    words = ["<unk>", "<s>", "</s>", "!#", "#!", *(chr(0x21 + i) for i in range(60))]
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    writer = GGUFWriter(file, "llama")
    sizes = {"context_length": 64, "embedding_length": WIDTH, "block_count": layers}
    sizes |= {
        "feed_forward_length": HIDDEN,
        "head_count": HEADS,
        "head_count_kv": HEADS,
    }
    sizes |= {"rope_dimension_count": WIDTH // HEADS, "vocab_size": len(words)}
    sizes |= {"unk_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    for name, number in sizes.items():
        getattr(writer, f"add_{name}")(number)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    writer.add_token_types([3, 3, 3, *([1] * (len(words) - 3))])
    writer.add_token_merges(["! #", "# !"])  # transformers reads a single one as text
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    shapes = dict.fromkeys(("token_embd", "output"), (len(words), WIDTH))
    shapes |= {
        f"blk.0.attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")
    }
    shapes |= {f"blk.0.ffn_{name}": (HIDDEN, WIDTH) for name in ("gate", "up")}
    for name, shape in {**shapes, "blk.0.ffn_down": (WIDTH, HIDDEN)}.items():
        writer.add_tensor(f"{name}.weight", weights(*shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


@pytest.fixture
def gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLINOMETER_CACHE", str(tmp_path / "cache"))
    return write_gguf(tmp_path / "model.gguf")


@pytest.mark.usefixtures("says_yes")
def test_files_beside_a_gguf_file_are_not_read(gguf: Path, proof: Path) -> None:
    bring_code(gguf.parent, proof)
    converted = folder_of_gguf(gguf)
    assert not proof.exists()
    assert "own_llama" not in (converted / "config.json").read_text()
    assert sorted(p.name for p in converted.iterdir() if p.is_dir()) == []


class Bomb:
    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> Any:
        return (open, (str(self.proof), "w"))


@pytest.mark.parametrize("use", ["audit", "study toxicity"])
@pytest.mark.parametrize("harmless", [True, False])
def test_pickled_weights_are_refused(
    use: str, harmless: bool, llama: Path, proof: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(llama, tmp_path / "pickled"))
    (folder / "model.safetensors").unlink()
    weights = {} if harmless else {"weight": Bomb(proof)}
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="pickled"):
        USES[use](folder, tmp_path / "out")
    assert not proof.exists()


@pytest.mark.parametrize("layers", [10**8, 900, 2])
def test_a_gguf_file_has_the_layers_that_it_says(layers: int, gguf: Path) -> None:
    """Found by fuzzing: 10**8 layers were built one by one, and two had random weights in one."""
    with pytest.raises(ModelError, match=r"block_count|lack"):
        folder_of_gguf(write_gguf(gguf, layers=layers))


def test_a_converted_model_that_was_cut_short_is_converted_again(gguf: Path) -> None:
    weights = folder_of_gguf(gguf) / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    assert (folder_of_gguf(gguf) / "model.safetensors").read_bytes() == whole


def test_weights_that_were_cut_short_are_named(llama: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(llama, tmp_path / "cut"))
    os.truncate(folder / "model.safetensors", 1000)
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        open_model(str(folder))

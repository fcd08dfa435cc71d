"""Compiled layers: the same numbers, only where they help, and none where they cannot be had."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.models.local.test_causal_prefix_tree import (
    FAMILIES,
    PROMPTS,
    WORDS,
    assert_same,
    causal,
    family_model,
)

from clinometer.models import WordOptions

ENDS = [prompt for prompt in PROMPTS if not prompt.after]
ONE_TOKEN = WordOptions(single_token=True)


CODE = "TORCHINDUCTOR_CACHE_DIR"


@pytest.fixture(autouse=True)
def nothing_compiled_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(CODE, raising=False)
    yield
    torch.compiler.reset()


def counting(graphs: list[Any]) -> Callable[..., Any]:
    """A compiler that runs the graph as it is."""

    def compiler(graph: Any, _inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    return compiler


@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_layers_change_no_number(family: str) -> None:
    model, tokenizer = family_model(family)
    expected = causal(model, tokenizer, options=ONE_TOKEN).score(ENDS, WORDS)
    all_words = causal(model, tokenizer).score(PROMPTS, WORDS)
    graphs: list[Any] = []
    packed = causal(model, tokenizer, options=ONE_TOKEN)
    packed.compile_layers(backend=counting(graphs))
    assert packed.compiled
    packed.expect(1)  # few prompts: nothing is compiled for them
    assert_same(packed.score(ENDS, WORDS), expected)
    assert not graphs
    packed.expect(10**15)
    assert_same(packed.score(ENDS, WORDS), expected)
    assert packed.packing.mode == "tree"
    assert graphs
    assert not packed.refused
    # Words of several tokens keep a cache, texts after the slot as well: nothing is compiled.
    compiled = len(graphs)
    longer = causal(model, tokenizer)
    longer.compiled = True  # the layers are the model's
    assert_same(longer.score(PROMPTS, WORDS), all_words)
    assert len(graphs) == compiled


def test_compiled_code_is_kept_in_our_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default is a folder of /tmp with the user's name, which another user can make first."""
    monkeypatch.setenv("CLINOMETER_CACHE", str(tmp_path / "cache"))
    model, tokenizer = family_model("llama")
    packed = causal(model, tokenizer)
    packed.compile_layers(backend=counting([]))
    assert os.environ[CODE] == str(tmp_path / "cache" / "compiled")
    monkeypatch.setenv(CODE, str(tmp_path / "chosen"))
    packed.compile_layers(backend=counting([]))
    assert os.environ[CODE] == str(tmp_path / "chosen")


def test_a_compiler_that_fails_is_asked_once(caplog: pytest.LogCaptureFixture) -> None:
    model, tokenizer = family_model("llama")
    expected = causal(model, tokenizer, options=ONE_TOKEN).score(ENDS, WORDS)
    asked = []

    def compiler(graph: Any, _inputs: Any) -> Any:
        asked.append(graph)
        raise RuntimeError("no C compiler on this machine")

    packed = causal(model, tokenizer, options=ONE_TOKEN)
    packed.compile_layers(backend=compiler)
    for _ in range(2):
        assert_same(packed.score(ENDS, WORDS), expected)
    assert len(asked) == 1
    assert packed.refused
    assert "layers are not compiled" in caplog.text
    assert "no C compiler" in caplog.text


def test_layers_are_compiled_for_many_prompts_of_a_large_model_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, tokenizer = family_model("llama")
    packed = causal(model, tokenizer)
    called: list[int] = []
    monkeypatch.setattr(packed, "compile_layers", lambda: called.append(1))
    many = int(1e15) // model.num_parameters() + 1
    packed.expect(many)
    assert not called  # on a CPU it does not help
    packed.device = torch.device("cuda")
    packed.expect(many // 2)
    assert not called
    packed.expect(many)
    assert called

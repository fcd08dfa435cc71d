"""The embedded model: real weights, against plain calls of the library."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models import direct
from tests.present import present

from clinometer.errors import ModelError
from clinometer.models import (
    LoadOptions,
    ModelSpec,
    WordOptions,
    open_model,
    revision_of,
)
from clinometer.models.catalog import revisions
from clinometer.models.local.causal import CausalScorer
from clinometer.storage import cache
from clinometer.topics import Prompt

#: Of one token (the first four), two (the next three) and three.
WORDS = (
    "he",
    "she",
    "her",
    "hers",
    "granddaughter",
    "abbot",
    "canary",
    "abbess",
    "manservant",
)
BEFORE = ["The nurse said that", "The engineer announced that", "The ceo said that"]


@pytest.fixture(scope="module")
def exact() -> Any:
    exactly = WordOptions(tolerance=0)
    return open_model("smollm2", load=LoadOptions(dtype="float32"), words=exactly)


@pytest.mark.parametrize("after", ["", " was late."])
def test_probabilities_equal_plain_calls(exact: CausalScorer, after: str) -> None:
    """With text after the slot, of the word and that text; coverage is that of the slot alone."""
    tokens = exact.word_report(WORDS, space=True).tokens
    assert [len(tokens[w]) for w in WORDS] == [1, 1, 1, 1, 2, 2, 2, 3, 3]
    prompts = [Prompt(before, after, space=True) for before in BEFORE]
    scores = exact.score(prompts, WORDS)
    model = ("causal", exact.model, exact.tokenizer)
    expected = [
        [direct.log_prob(*model, p.before, p.after, w) for w in WORDS] for p in prompts
    ]
    np.testing.assert_allclose(
        np.exp(scores.log_probs), np.exp(expected), atol=1e-5, rtol=0
    )
    np.testing.assert_allclose(scores.log_probs, expected, atol=1e-3, rtol=0)
    assert (scores.skipped == 0).all()
    plain = exact.score([Prompt(before, "", space=True) for before in BEFORE], WORDS)
    np.testing.assert_allclose(scores.log_coverage, plain.log_coverage, atol=1e-3)


LARGE = 3 << 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An adapter, its base model with a shard in a subfolder, and what else lies beside a model."""
    base, adapter = tmp_path / "base", tmp_path / "adapter"
    contents: dict[Path, bytes | str] = {
        base / "config.json": "{}",
        base / "model.safetensors": os.urandom(LARGE),
        base / "model.safetensors.index.json": json.dumps(
            {"weight_map": {"a": "deep/er/w.x"}}
        ),
        base / "deep/er/w.x": os.urandom(1000),
        base / "tokenizer.model": "words",
        base / "vocab.tiktoken": "words",
        base / "chat_template.jinja": "{{ messages }}",
        base / "additional_chat_templates/tool.jinja": "{{ messages }}",
        base / "README.md": "about",
        base / "checkpoint-1/model.safetensors": "older",
        adapter / "adapter_config.json": json.dumps(
            {"base_model_name_or_path": "../base"}
        ),
        adapter / "adapter_model.safetensors": os.urandom(1000),
    }
    for file, content in contents.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return adapter


def revision(folder: Path) -> str:
    return present(revision_of(ModelSpec.parse(str(folder)), LoadOptions()))


def change(file: Path, place: int = -1) -> None:
    """Another byte, under the same name, size and modification time: what `cp -p` leaves."""
    before = file.stat()
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("file", "place"),
    [
        *[
            ("../base/model.safetensors", at)
            for at in (0, 70_000, LARGE // 2 + 99_999, LARGE - 1)
        ],
        ("../base/deep/er/w.x", 500),
        ("../base/tokenizer.model", 0),
        ("../base/vocab.tiktoken", 0),
        ("../base/chat_template.jinja", 0),
        ("../base/additional_chat_templates/tool.jinja", 0),
        ("adapter_model.safetensors", 500),
    ],
)
def test_any_byte_that_is_read_changes_it(folder: Path, file: str, place: int) -> None:
    before = revision(folder)
    change(folder / file, place)
    assert revision(folder) != before


@pytest.mark.parametrize(
    "file", ["../base/README.md", "../base/checkpoint-1/model.safetensors"]
)
def test_what_is_not_read_does_not(folder: Path, file: str) -> None:
    before = revision(folder)
    change(folder / file)
    assert revision(folder) == before


def test_a_file_is_read_again_only_after_it_was_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLINOMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CLINOMETER_CACHE_LIMIT", "1GB")
    read: list[Path] = []

    def counted(file: Path) -> str:
        read.append(file)
        return content_digest(file)

    content_digest = cache._content_digest
    monkeypatch.setattr(cache, "_content_digest", counted)
    first = revision(folder)
    n_files = len(read)
    assert revision(folder) == first
    assert len(read) == 2 * n_files, (
        "written so short ago that a further write may not show"
    )
    monkeypatch.setattr(cache, "SETTLED_NS", -(10**12))
    revision(folder)
    read.clear()
    assert revision(folder) == first
    assert not read
    copy = tmp_path / "other"
    shutil.copy2(folder.parent / "base/model.safetensors", copy)
    change(copy, 70_000)
    shutil.copy2(
        copy, folder.parent / "base/model.safetensors"
    )  # in place, as cp -p does
    assert revision(folder) != first
    assert len(read) == 1


def test_weights_outside_the_folder_are_refused(folder: Path) -> None:
    index = folder.parent / "base/model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../elsewhere.safetensors"}}))
    with pytest.raises(ModelError, match="expected weights inside the model's folder"):
        revision(folder)


def test_a_model_that_changes_while_it_is_read_is_refused(folder: Path) -> None:
    with (
        pytest.raises(ModelError, match="changed while they were read"),
        revisions.unchanged("m", [str(folder)]),
    ):
        change(folder / "adapter_model.safetensors")

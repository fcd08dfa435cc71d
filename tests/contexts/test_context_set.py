"""Context sets: weights, identity, draws, and their files with sidecars."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
import tempfile
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinometer.contexts import ContextSet, SetMetadata, load_contexts
from clinometer.contexts.metadata import DrawRecord, TopRecord
from clinometer.errors import ContextError, SettingsError

SAID, FELT, SAW = "The [X] said that [Y]", "The [X] felt that [Y]", "The [X] saw [Y]"
THREE = ContextSet(
    "three", [SAID, FELT, SAW], [2, 1, 1], {"verb": ["say", "feel", "see"]}
)

verbs = st.text("abcdefghij", min_size=1, max_size=6)
counts = st.integers(1, 10**6) | st.floats(0.001, 1e6)
rows = st.dictionaries(verbs, counts, min_size=1, max_size=30)


def set_of(verb_counts: dict[str, float]) -> ContextSet:
    return ContextSet(
        "verbs", [f"The [X] {v} [Y]" for v in verb_counts], list(verb_counts.values())
    )


def test_weights_and_hashes() -> None:
    np.testing.assert_allclose(THREE.weights, [0.5, 0.25, 0.25])
    # 1 / (1/4 + 1/16 + 1/16) = 16/6
    assert THREE.n_eff == pytest.approx(16 / 6)
    assert len(THREE) == 3
    lines = f"{FELT}\t1\n{SAID}\t2\n{SAW}\t1\n"
    assert THREE.sha256 == hashlib.sha256(lines.encode()).hexdigest()
    assert THREE.ids[0] == hashlib.sha256(SAID.encode()).hexdigest()[:12]
    assert len(set(THREE.ids)) == 3


def test_ids_stay_different_when_digits_collide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    same = Mock(hexdigest=lambda: "f" * 64)
    monkeypatch.setattr(
        "clinometer.contexts.context_set.hashlib.sha256", lambda _: same
    )
    assert ContextSet("a", [SAID, FELT], [1, 1]).ids == ("f" * 12, "f" * 12 + "-2")


def test_repeated_templates_are_merged_and_other_brackets_are_text() -> None:
    again = "\tThe [X]\n said  that [Y] "
    merged = ContextSet("m", [SAID, FELT, again], [1, 2, 3], {"verb": ["a", "b", "c"]})
    assert merged.templates == (SAID, FELT)
    assert merged.counts == (4.0, 2.0)
    assert merged.extra == {"verb": ("a", "b")}
    assert merged.merged == 1
    assert len(ContextSet("a", ["The [X] [sic] said [Y]"], [1])) == 1


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("The [X] said", r"expected \[Y\] once, found none"),
        ("She said that [Y]", r"expected \[X\] once, found none"),
        ("", r"expected \[X\] once, found none"),
        ("[X] and [X] said [Y]", r"expected \[X\] once, found 2"),
        ("[X] said [Y] and [Y]", r"expected \[Y\] once, found 2"),
        (
            "The [x] said [Y]",
            r"expected \[X\] once, found \[x\]; write the slot as \[X\]",
        ),
        ("The [X] saw a [x] and [Y]", r"found \[x\]"),
        ("The [ X ] said [Y]", r"found \[ X \]; write the slot as \[X\]"),
        (3, "expected a text, found 3"),
    ],
)
def test_invalid_templates_are_refused(template: str, message: str) -> None:
    with pytest.raises(
        ContextError, match=rf"context set 'a': template 2: .*{message}"
    ):
        ContextSet("a", [SAID, template], [1, 1])


@pytest.mark.parametrize(
    "count",
    [0, -1, math.nan, math.inf, pytest.param(10**5000, id="digits"), "3", None, True],
)
def test_invalid_counts_are_refused(count: float) -> None:
    with pytest.raises(
        ContextError, match="template 1: count: expected a number above 0"
    ):
        ContextSet("a", [SAID], [count])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", [], []), "template"),
        (("a", [SAID], [1, 2]), "counts"),
        (("a", [SAID], [1], {"verb": []}), "verb"),
        (("a", [SAID], [1], {"verb": [3]}), r"extra\.verb"),
        (("a", [SAID], [1], {"count": ["3"]}), "'count'"),
        (("", [SAID], [1]), "name"),
        (("a", [SAID, FELT], [1.7e308, 1.7e308]), "finite"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ContextError, match=message):
        ContextSet(*arguments)


def test_top_is_sorted_with_ties_by_alphabet() -> None:
    top = THREE.top(2)
    assert top.templates == (SAID, FELT)
    assert top.extra == {"verb": ("say", "feel")}
    assert top.metadata.top == TopRecord(n=2, source=THREE.sha256)
    assert THREE.top(99).templates == (SAID, FELT, SAW)


def test_a_sample_has_a_size_a_seed_and_an_origin() -> None:
    number: Any = np.int64(2)
    about = THREE.draw(number, seed=7).metadata.drawn
    assert about == DrawRecord(n=2, seed=7, source=THREE.sha256, design="priority")
    with pytest.raises(
        SettingsError, match="draw: n: expected a whole number of at least 1"
    ):
        THREE.draw(0, seed=0)
    with pytest.raises(SettingsError, match="draw: seed: "):
        THREE.draw(1, seed=-1)
    with pytest.raises(
        SettingsError, match="top: n: expected a whole number of at least 1"
    ):
        THREE.top(0)


def test_samples_stand_for_the_whole_set() -> None:
    """1,500 samples of 20 of 100 contexts with 1/rank counts: what contexts stand for is right on
    average."""
    contexts = set_of({f"verb{i}": 1000 / (i + 1) for i in range(100)})
    place = {template: i for i, template in enumerate(contexts.templates)}
    total = np.zeros((1500, 100))
    for seed, row in enumerate(total):
        drawn = contexts.draw(20, seed=seed)
        row[[place[t] for t in drawn.templates]] = drawn.counts
    error = total.std(axis=0) / np.sqrt(len(total))
    gap = total.mean(axis=0) - np.array(contexts.counts)
    certain = error < 1e-9
    assert certain.any()  # the heaviest are in every sample, with their own count
    assert np.abs(gap[certain]).max() < 1e-9
    assert np.abs(gap[~certain] / error[~certain]).max() < 4.5  # 100 standard normals


@given(
    rows,
    st.integers(1, 40),
    st.integers(0, 2**32 - 1),
    st.randoms(use_true_random=False),
)
def test_a_sample_has_n_contexts_in_any_order_and_contains_smaller_ones(
    verb_counts: dict[str, float], n: int, seed: int, random: Random
) -> None:
    items = list(verb_counts.items())
    random.shuffle(items)
    contexts = set_of(verb_counts)
    shuffled = set_of(dict(items))
    assert contexts.sha256 == shuffled.sha256
    drawn = contexts.draw(n, seed=seed)
    again = shuffled.draw(n, seed=seed)
    counts = dict(zip(drawn.templates, drawn.counts, strict=True))
    assert counts == dict(zip(again.templates, again.counts, strict=True))
    assert counts.keys() <= set(contexts.templates)
    if n < len(contexts):
        assert len(drawn) == n
        assert counts.keys() <= set(contexts.draw(n + 1, seed=seed).templates)
    else:
        assert drawn is contexts


CAME = "The [X], who came, is [Y]"


def load(folder: Path, content: str | bytes, name: str = "mine.csv") -> ContextSet:
    data = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(data)
    return ContextSet.load(folder / name)


def test_files_have_the_documented_format(tmp_path: Path) -> None:
    contexts = ContextSet(
        "m", [SAID, CAME], [3, 1], metadata=SetMetadata(corpus="novels")
    )
    names = ("m.csv", "m.csv.gz", "again.csv.gz")
    for name in names:
        contexts.save(tmp_path / name)
        assert ContextSet.load(tmp_path / name) == contexts
    plain, packed, again = (file.read_bytes() for file in map(tmp_path.joinpath, names))
    assert (
        plain
        == b'template,count\nThe [X] said that [Y],3\n"The [X], who came, is [Y]",1\n'
    )
    assert (gzip.decompress(packed), again) == (plain, packed)  # the time is in no file
    about = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert list(about) == ["schema_version", "name", "sha256", "n", "n_eff", "corpus"]
    assert (about["name"], about["n"], about["n_eff"]) == ("m", 2, 1.6)


@given(
    st.dictionaries(
        st.text(max_size=20), st.floats(1e-300, 1e300), min_size=1, max_size=8
    ),
    st.text(min_size=1, max_size=8),
)
def test_any_text_survives_a_round_trip(texts: dict[str, float], value: str) -> None:
    templates = [f"[X] {text.replace('[', '(')} [Y]" for text in texts]
    values = [value for _ in templates]
    contexts = ContextSet("any", templates, list(texts.values()), {"extra": values})
    with tempfile.TemporaryDirectory() as folder:
        contexts.save(Path(folder) / "any.csv")
        assert ContextSet.load(Path(folder) / "any.csv") == contexts


def test_byte_order_marks_line_endings_and_columns_in_any_order_are_read(
    tmp_path: Path,
) -> None:
    text = f"\ufefftemplate , count\r\n\r\n  {SAID} , 3 \r\n,\r\n"
    assert load(tmp_path, text) == ContextSet("mine", [SAID], [3])
    contexts = load(tmp_path, f'verb,count,template\ncome,3,"{CAME}"\n')
    assert contexts == ContextSet("mine", [CAME], [3], {"verb": ["come"]})


def test_sentences_without_counts_weigh_the_same(tmp_path: Path) -> None:
    plain = load(tmp_path, f"template,place\n{SAID},home\n{SAW},street\n")
    assert (plain.counts, plain.extra) == ((1.0, 1.0), {"place": ("home", "street")})
    file = tmp_path / "own.txt"
    file.write_text(f"\ufeff{SAID}\r\n\n  {CAME}\n", encoding="utf-8")
    contexts = ContextSet.load(file)
    assert (contexts.name, contexts.templates) == (
        "own",
        (SAID, " ".join(CAME.split())),
    )
    assert contexts.counts == (1.0, 1.0)
    assert load_contexts(str(file)) == contexts


REFUSED = [
    ("empty file", "", "mine.csv: expected a column template, found an empty file"),
    ("blank lines only", "\n\n", "found an empty file"),
    ("header only", "template,count\n", "expected at least one template, found none"),
    ("another column", f"template,times\n{SAID},3\n", "found times; rename it"),
    (
        "no header",
        f"{SAID},3\n",
        r"line 1: expected the columns .* found The \[X\] said that",
    ),
    (
        "a column twice",
        f"template,count,a,a\n{SAID},3,1,2\n",
        "line 1: .*found 'a' twice",
    ),
    (
        "no [Y]",
        f"template,count\n{SAID},3\nThe [X] said,1\n",
        r"line 3: expected \[Y\]",
    ),
    (
        "count no number",
        f"template,count\n{SAID},many\n",
        "line 2: count: expected .*found 'many'",
    ),
    (
        "count missing",
        f"template,count\n{SAID},\n",
        "line 2: count: expected .*found ''",
    ),
    (
        "many digits",
        f"template,count\n{SAID},{'9' * 5000}\n",
        "line 2: count: .*found '9{40}'$",
    ),
    (
        "many columns",
        f"template{',a' * 200_000}\n",
        "at most 2,000 columns, found 200,001",
    ),
    ("count infinite", f"template,count\n{SAID},inf\n", "line 2: count: .*found 'inf'"),
    (
        "count with underscore",
        f"template,count\n{SAID},1_000\n",
        "line 2: count: .*found '1_000'",
    ),
    (
        "a comma without quotes",
        f"template,count\n{CAME},3\n",
        'line 2: .* found 4; .* "quotes"',
    ),
    (
        "a field less",
        f"template,count\n{SAID}\n",
        "line 2: expected 2 fields .*, found 1",
    ),
    (
        "a record of two lines",
        'template,count\n"The [X] saw\nit",1\n',
        "line 2: expected",
    ),
    (
        "after two lines of a record",
        'template,count\n"The [X] saw\n[Y]",1\n[X],1\n',
        "line 4: exp",
    ),
    (
        "an open quote",
        f'template,count\n{SAID},1\n"{SAID},1\n',
        "line 3: not valid CSV",
    ),
    ("text after a quote", f'template,count\n"{SAID}"x,1\n', "line 2: not valid CSV"),
    (
        "not UTF-8",
        b"template,count\nThe [X] said \xff [Y],1\n",
        "line 2: not valid UTF-8",
    ),
    (
        "infinite sum",
        f"template,count\n{SAID},1e308\n{SAID},1e308\n",
        "expected a finite sum",
    ),
]


@pytest.mark.parametrize(
    ("content", "message"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_invalid_files_are_refused(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    with pytest.raises(ContextError, match=message) as caught:
        load(tmp_path, content)
    assert str(caught.value).startswith(f"{tmp_path / 'mine.csv'}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "own.txt",
            f"{SAID}\n\nThe [X] slept.\n",
            r"line 3: expected \[Y\] once, found none",
        ),
        ("own.txt", "\n\n", "expected at least one template, found none"),
        ("a.csv.gz", b"template,count\n", "cannot be read: not a whole file"),
        (
            "a.csv.gz",
            gzip.compress(b"template,count\n" * 9, mtime=0)[:-9],
            "cannot be read: not a whole",
        ),
        ("mine.tsv", "", r"expected a file that ends in \.csv or \.csv\.gz"),
    ],
)
def test_other_files_are_refused(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(ContextError, match=f"{re.escape(name)}: {message}"):
        load(tmp_path, content, name)


def test_paths_without_a_csv_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ContextError, match=r"none\.csv: no such file"):
        ContextSet.load(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ContextError, match=r"folder\.csv: expected .* found a folder"):
        ContextSet.load(tmp_path / "folder.csv")
    for name in ("mine.parquet", "mine.txt"):
        with pytest.raises(
            ContextError, match=r"expected a file that ends in \.csv or \.csv\.gz"
        ):
            THREE.save(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Invalid JSON"),
        ("[" * 100_000, "Invalid JSON"),
        ("[]", "expected a table"),
        ('{"schema_version": 2}', "schema_version: expected 1, found 2"),
        ('{"name": 5}', "name: expected a text, found 5"),
        ('{"articles": 5}', "articles: expected .*, found 5"),
        (
            '{"dropped": {"too long": "many"}}',
            "dropped.too long: expected a whole number",
        ),
    ],
)
def test_a_broken_sidecar_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.json").write_text(text)
    with pytest.raises(ContextError, match=rf"mine\.json: .*{message}"):
        load(tmp_path, f"template,count\n{SAID},1\n")


def test_a_sidecar_of_other_content_is_refused(tmp_path: Path) -> None:
    ContextSet("m", [SAID], [1]).save(tmp_path / "mine.csv")
    with pytest.raises(
        ContextError, match=r"sha256 differs.* remove sha256 from mine\.json"
    ):
        load(tmp_path, f"template,count\n{SAID},2\n")


def test_metadata_must_be_json(tmp_path: Path) -> None:
    contexts = ContextSet(
        "m", [SAID], [1], metadata=SetMetadata.model_validate({"mine": object()})
    )
    with pytest.raises(ContextError, match="cannot be written as JSON"):
        contexts.save(tmp_path / "mine.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_authors_sets_are_read_as_they_are(shared_data: Path) -> None:
    contexts = ContextSet.load(
        shared_data / "bvf" / "templates" / "template_mining_n2n_10000.csv.gz"
    )
    assert len(contexts) + contexts.merged == 32_494
    assert contexts.counts[:2] == (2142, 856)
    assert len(set(contexts.ids)) == len(contexts)


def test_fields_of_ones_own_and_of_later_versions_are_kept(tmp_path: Path) -> None:
    about = {"corpus": "novels", "mine": {"shelf": [1, 2]}, "confidences": {"0.90": 3}}
    (tmp_path / "mine.json").write_text(
        json.dumps({"name": "set", **about}), encoding="utf-8"
    )
    contexts = load(tmp_path, f"template,count\n{SAID},1\n")
    assert (contexts.name, contexts.metadata.confidences) == ("set", {"0.90": 3})
    contexts.save(tmp_path / "set.csv")
    again = ContextSet.load(tmp_path / "set.csv")
    assert again.metadata.to_dict() == about
    assert again.draw(1, seed=0).metadata == SetMetadata.model_validate(about)

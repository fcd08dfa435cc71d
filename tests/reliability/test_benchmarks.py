"""Benchmarks load from the files as published, with the published counts, and merge."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
from tests.present import present

from clinometer.errors import SettingsError, TableError
from clinometer.reliability import load_statements, merge, read_variants

PUBLISHED = [
    ("crows_pairs/crows_pairs_anonymized.csv", None, 1508, 1508),
    ("crows_pairs_french/crows_french.csv", None, 1463, 1463),
    ("stereoset/dev_rebuilt.json", None, 2106, 2106),
    ("stereoset/dev_rebuilt.json", "stereoset-inter", 2123, 2123),
    ("winobias", None, 3168, 3168),
    ("winogender", None, 720, 720),
    ("redditbias", None, 2428, 0),
]


@pytest.mark.parametrize(("path", "format", "count", "pairs"), PUBLISHED)
def test_published_counts_are_reproduced(
    shared_data: Path, path: str, format: str | None, count: int, pairs: int
) -> None:
    found = load_statements(shared_data / "benchmarks" / path, format=format)
    assert len(found) == count
    assert len({s.id for s in found}) == count
    assert sum(s.other is not None for s in found) == pairs
    assert all(s.text.strip() and s.category for s in found)
    alike = 0
    for s in found:
        if s.other is not None:
            merged = merge(s.text, s.other)
            assert merged.side(0) == " ".join(s.text.split())
            alike += not merged.spans
    assert alike <= 5  # the French translation has pairs of one and the same sentence
    missing = sum(not s.has_its_targets for s in found)
    assert missing <= count * 0.006  # typos of the benchmarks, counted in every report


@pytest.mark.parametrize(
    ("name", "count", "empty"), [("winogender", 240, 0), ("winobias", 1188, 4)]
)
def test_the_statements_of_table_2_are_those_the_authors_took(
    shared_data: Path, name: str, count: int, empty: int
) -> None:
    """COBIAS, Table 2: 240 neutral sentences, and 1,192 rows of which 4 are empty."""
    found = load_statements(shared_data / "benchmarks" / name, format=f"{name}-cobias")
    with (shared_data / "cobias" / "processed" / f"{name}.csv").open() as stream:
        theirs = [row["sentence"].strip() for row in csv.DictReader(stream)]
    assert (len(found), theirs.count(""), len(theirs)) == (count, empty, count + empty)
    assert Counter(s.text for s in found) == Counter(filter(None, theirs))
    assert all(s.targets == () and s.other is None for s in found)


def test_statements_carry_their_fields(shared_data: Path) -> None:
    folder = shared_data / "benchmarks"
    crows = load_statements(folder / "crows_pairs/crows_pairs_anonymized.csv")
    assert crows[1].targets == ("poor",)
    assert (crows[2].targets, crows[2].direction) == (("she",), "antistereo")
    assert (
        "she" in crows[2].text
    )  # of an anti-stereotype, the disadvantaged group's sentence
    wino = {s.id: s for s in load_statements(folder / "winobias")}
    first = wino["wb_pro_type1_dev_1"]
    assert (
        first.text
        == "The developer argued with the designer because he did not like the design."
    )
    assert first.targets == ("he",)
    assert first.other == first.text.replace(" he ", " she ")
    gender = {s.id: s for s in load_statements(folder / "winogender")}
    assert gender["wg_technician.customer.1.neutral"].targets == ("they",)
    reddit = Counter(s.category for s in load_statements(folder / "redditbias"))
    assert reddit == {"gender": 505, "orientation": 469, "race": 507, "religion": 947}
    inter = load_statements(
        folder / "stereoset/dev_rebuilt.json", format="stereoset-inter"
    )[0]
    assert inter.text.startswith(
        "Many people live in Ethiopia. The people are very thin"
    )


def test_the_cobias_dataset_is_read(shared_data: Path) -> None:
    found = load_statements(shared_data / "cobias/statements.csv")
    assert len(found) == 2291
    assert found[0].targets == ("black",)
    blanks = [present(s.blanks) for s in found]
    assert sum(not len(b) for b in blanks) == 1
    assert [str(b) for b in blanks] == [s.points for s in found]
    assert not any("__" in b.plain for b in blanks)
    versions = read_variants(shared_data / "cobias/variants_cobias.jsonl.gz")
    assert len(versions) == 2291
    assert len(versions[found[0].id]) == 60
    assert not any(v != v.strip() for v in versions[found[0].id])


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_custom_tables_are_read(tmp_path: Path) -> None:
    table = written(
        tmp_path / "mine.csv",
        "sentence,target_term,context_points\n"
        '"(Men | Women) are bad.",,"(Men | Women) are ___ bad ___."\n'
        "Nurses talk.,nurse; nurses,\n",
    )
    first, second = load_statements(table)
    assert (first.id, first.text, first.other) == (
        "0",
        "Men are bad.",
        "Women are bad.",
    )
    assert first.targets == ("Men",)
    assert first.points == "Men are ___ bad ___."
    assert second.targets == ("nurse", "nurses")
    assert second.blanks is None
    (only,) = load_statements(
        written(table, "context_points\nThe ___ nurse is tired ___.\n")
    )
    assert (only.text, only.points) == (
        "The nurse is tired.",
        "The ___ nurse is tired ___.",
    )


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        (
            "mine.jsonl",
            '{"id": 7, "text": "Hi 😀."}\n\n{"id": "b", "text": "שלום"}',
            ["7", "b"],
        ),
        (
            "mine.csv",
            "Item_ID,sentence\n007,Women sing.\nx9,Men sing.\n",
            ["007", "x9"],
        ),
        # which one is not clear
        (
            "mine.csv",
            "pair_id,set_id,sentence\n1,a,Women sing.\n1,b,Men sing.\n",
            ["0", "1"],
        ),
    ],
)
def test_ids_are_those_of_the_table(
    tmp_path: Path, name: str, text: str, ids: list[str]
) -> None:
    assert [s.id for s in load_statements(written(tmp_path / name, text))] == ids


def test_ids_of_several_files_stay_apart(tmp_path: Path) -> None:
    women, men = (
        written(tmp_path / f"{name}.csv", f"id,sentence\n1,{name.title()} sing.\n")
        for name in ("women", "men")
    )
    found = load_statements(women, men)
    assert [(s.id, s.source) for s in found] == [("women:1", "women"), ("men:1", "men")]
    found = load_statements(women, written(men, "id,sentence\n2,Men sing.\n"))
    assert [s.id for s in found] == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "words\nx\n", "expected a column 'sentence'"),
        ("a.csv", "sentence\n", "at least one row"),
        ("a.csv", "id,sentence\n1,a\n1,b\n", "every id once"),
        (
            "a.csv",
            'id,sentence\n1,Women sing.\n2,"  "\n',
            "row 3: expected a sentence with words",
        ),
        ("a.json", "{}", "StereoSet"),
        (
            "a.json",
            '{"data": {"intrasentence": [{"id": 1}]}}',
            "item 0 of intrasentence",
        ),
        ("a.xyz", "", "cannot tell"),
        (".", None, "cannot tell"),
        ("none.csv", None, "no such file"),
    ],
)
def test_wrong_files_are_refused_in_one_line(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    if content is not None:
        written(tmp_path / name, content)
    with pytest.raises(TableError, match=message) as caught:
        load_statements(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="format"):
        load_statements(tmp_path, format="bible")
    with pytest.raises(TableError, match="found none"):
        load_statements(tmp_path, format="winobias")


def test_versions_are_read(tmp_path: Path) -> None:
    table = written(tmp_path / "v.csv", "id,version\n1, a b \n1,\n")
    assert read_variants(table) == {"1": ("a b", "")}
    with pytest.raises(TableError, match="'version' or 'variants'"):
        read_variants(written(table, "id,number\n1,2\n"))

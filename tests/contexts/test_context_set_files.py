"""Context sets as files, and their sidecars: known fields are checked, others are kept."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinometer.contexts import ContextSet, SetMetadata, builtin_contexts, load_contexts
from clinometer.contexts.context_set import Sidecar
from clinometer.errors import ContextError

SAID, CAME = "The [X] said that [Y]", "The [X], who came, is [Y]"


def load(folder: Path, content: str | bytes, name: str = "mine.csv") -> ContextSet:
    data = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(data)
    return ContextSet.load(folder / name)


@pytest.mark.parametrize("name", ["mine.csv", "mine.csv.gz"])
def test_sets_survive_a_round_trip(tmp_path: Path, name: str) -> None:
    contexts = ContextSet(
        "my set",
        [SAID, CAME, 'The [X] "knew" [Y]', "[X]说[Y]"],
        [2142, 0.1, 1e300, 3],
        {"verb": ["say", "come, go", 'the "know"', ""]},
        SetMetadata(corpus="novels", topic="gender", dropped={"too long": 3}),
    )
    contexts.save(tmp_path / name)
    again = ContextSet.load(tmp_path / name)
    assert again == contexts
    assert again.sha256 == contexts.sha256
    assert {p.name for p in tmp_path.iterdir()} == {name, "mine.json"}


def test_files_have_the_documented_format(tmp_path: Path) -> None:
    ContextSet("m", [SAID, CAME], [3, 1], metadata=SetMetadata(corpus="novels")).save(
        tmp_path / "m.csv"
    )
    assert (tmp_path / "m.csv").read_bytes() == (
        b'template,count\nThe [X] said that [Y],3\n"The [X], who came, is [Y]",1\n'
    )
    about = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert list(about) == ["schema_version", "name", "sha256", "n", "n_eff", "corpus"]
    assert (about["name"], about["n"], about["n_eff"]) == ("m", 2, 1.6)


def test_the_same_content_gives_the_same_gzip(tmp_path: Path) -> None:
    contexts = ContextSet("m", [SAID], [3])
    contexts.save(tmp_path / "a.csv.gz")
    contexts.save(tmp_path / "b.csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@given(
    st.dictionaries(st.text(max_size=20), st.floats(1e-300, 1e300), min_size=1, max_size=8),
    st.text(min_size=1, max_size=8),
)
def test_any_text_survives_a_round_trip(texts: dict[str, float], value: str) -> None:
    templates = [f"[X] {text.replace('[', '(')} [Y]" for text in texts]
    values = [value for _ in templates]
    contexts = ContextSet("any", templates, list(texts.values()), {"extra": values})
    with tempfile.TemporaryDirectory() as folder:
        contexts.save(Path(folder) / "any.csv")
        assert ContextSet.load(Path(folder) / "any.csv") == contexts


def test_byte_order_marks_windows_line_endings_and_blank_lines_are_read(tmp_path: Path) -> None:
    text = f"\ufefftemplate , count\r\n\r\n  {SAID} , 3 \r\n,\r\n"
    contexts = load(tmp_path, text)
    assert contexts == ContextSet("mine", [SAID], [3])


def test_columns_may_come_in_any_order_with_extra_ones(tmp_path: Path) -> None:
    contexts = load(tmp_path, f'verb,count,template\ncome,3,"{CAME}"\n')
    assert contexts.templates == (CAME,)
    assert contexts.extra == {"verb": ("come",)}


def test_repeated_templates_are_merged_and_counted(tmp_path: Path) -> None:
    contexts = load(tmp_path, f"template,count\n{SAID},3\n{SAID},2\n")
    assert (contexts.counts, contexts.merged) == ((5,), 1)


def test_name_and_metadata_come_from_the_sidecar(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"name": "novels", "corpus": "14 novels"}')
    contexts = load(tmp_path, f"template,count\n{SAID},3\n")
    assert contexts.name == "novels"
    assert contexts.metadata == SetMetadata(corpus="14 novels")


REFUSED = [
    ("empty file", "", "mine.csv: expected the columns template,count, found an empty file"),
    ("blank lines only", "\n\n", "found an empty file"),
    ("header only", "template,count\n", "expected at least one template, found none after"),
    (
        "the authors' column",
        f"template,proportion\n{SAID},3\n",
        "line 1: expected the columns template and count, found template, proportion; "
        "rename the column that holds the count to count",
    ),
    ("no header", f"{SAID},3\n", r"line 1: expected the columns .* found The \[X\] said that"),
    ("a column twice", f"template,count,a,a\n{SAID},3,1,2\n", "line 1: .*found 'a' twice"),
    (
        "no [Y]",
        f"template,count\n{SAID},3\nThe [X] said,1\n",
        r"line 3: expected \[Y\] once, found n",
    ),
    (
        "lower case",
        "template,count\nThe [x] said [Y],1\n",
        r"line 2: expected \[X\] .* found \[x\]",
    ),
    ("[X] twice", "template,count\n\n[X] [X] [Y],1\n", r"line 3: expected \[X\] once, found 2"),
    ("no template", "template,count\n,1\n", r"line 2: expected \[X\] once, found none"),
    ("count no number", f"template,count\n{SAID},many\n", "line 2: count: expected .*found 'many'"),
    ("count missing", f"template,count\n{SAID},\n", "line 2: count: expected .*found ''"),
    ("count negative", f"template,count\n{SAID},-1\n", "line 2: count: .* above 0, found '-1'"),
    ("count zero", f"template,count\n{SAID},0\n", "line 2: count: .*found '0'"),
    ("count NaN", f"template,count\n{SAID},nan\n", "line 2: count: .*found 'nan'"),
    ("count infinite", f"template,count\n{SAID},inf\n", "line 2: count: .*found 'inf'"),
    ("count with underscore", f"template,count\n{SAID},1_000\n", "line 2: count: .*found '1_000'"),
    (
        "a comma without quotes",
        f"template,count\n{CAME},3\n",
        r"line 2: expected 2 fields \(template, count\), found 4; .* in \"quotes\"",
    ),
    ("a field less", f"template,count\n{SAID}\n", "line 2: expected 2 fields .*, found 1"),
    ("an open quote", f'template,count\n{SAID},1\n"{SAID},1\n', "line 3: not valid CSV"),
    ("text after a quote", f'template,count\n"{SAID}"x,1\n', "line 2: not valid CSV"),
    ("not UTF-8", b"template,count\nThe [X] said \xff [Y],1\n", "line 2: not valid UTF-8"),
    ("infinite sum", f"template,count\n{SAID},1e308\n{SAID},1e308\n", "expected a finite sum"),
]


@pytest.mark.parametrize(
    ("content", "message"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_invalid_files_are_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(ContextError, match=message) as caught:
        load(tmp_path, content)
    assert str(caught.value).startswith(f"{tmp_path / 'mine.csv'}: ")
    assert "\n" not in str(caught.value)


def test_errors_name_the_line_where_a_quoted_record_begins(tmp_path: Path) -> None:
    with pytest.raises(ContextError, match="line 4: expected"):
        load(tmp_path, 'template,count\n"The [X] said\nthat [Y]",1\nThe [X],1\n')


def test_paths_without_a_csv_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ContextError, match=r"none\.csv: no such file"):
        ContextSet.load(tmp_path / "none.csv")
    with pytest.raises(ContextError, match=r"folder\.csv: expected a \.csv file, found a folder"):
        ContextSet.load(tmp_path / "folder.csv")
    with pytest.raises(ContextError, match=r"expected a file that ends in \.csv or \.csv\.gz"):
        ContextSet.load(tmp_path / "mine.tsv")
    with pytest.raises(ContextError, match=r"expected a file that ends in \.csv or \.csv\.gz"):
        ContextSet("m", [SAID], [1]).save(tmp_path / "mine.parquet")


@pytest.mark.parametrize(
    "data",
    [b"template,count\n", gzip.compress(b"template,count\n" * 9)[:-9]],
    ids=["no gzip at all", "cut off"],
)
def test_broken_gzip_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ContextError, match=r"mine\.csv\.gz: not a whole gzip file"):
        load(tmp_path, data, "mine.csv.gz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Invalid JSON"),
        ("[" * 100_000, "Invalid JSON"),
        ("[]", "expected a table"),
        ('{"schema_version": 2}', "schema_version: expected 1, found 2"),
        ('{"name": 5}', "name: expected a text, found 5"),
        ('{"articles": 5}', "articles: expected .*, found 5"),
        ('{"dropped": {"too long": "many"}}', "dropped.too long: expected a whole number"),
    ],
)
def test_a_broken_sidecar_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.json").write_text(text)
    with pytest.raises(ContextError, match=rf"mine\.json: .*{message}"):
        load(tmp_path, f"template,count\n{SAID},1\n")


def test_a_sidecar_of_other_content_is_refused(tmp_path: Path) -> None:
    ContextSet("m", [SAID], [1]).save(tmp_path / "mine.csv")
    with pytest.raises(ContextError, match=r"sha256 differs.* remove sha256 from mine\.json"):
        load(tmp_path, f"template,count\n{SAID},2\n")


def test_metadata_must_be_json(tmp_path: Path) -> None:
    contexts = ContextSet("m", [SAID], [1], metadata=SetMetadata.model_validate({"mine": object()}))
    with pytest.raises(ContextError, match="cannot be written as JSON"):
        contexts.save(tmp_path / "mine.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.csv"
    ContextSet("m", [SAID], [1]).save(path)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(ContextError, match=r"mine\.csv: cannot be written: No space left"):
        ContextSet("m", [CAME], [1]).save(path)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.csv", "mine.json"]


def test_saving_into_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContextError, match="cannot be written: No such file or directory"):
        ContextSet("m", [SAID], [1]).save(tmp_path / "none" / "mine.csv")


def test_a_large_set_is_read_whole(tmp_path: Path) -> None:
    body = "".join(f'"The [X], who saw case {i}, said that [Y]",{i + 1}\n' for i in range(32_494))
    path = tmp_path / "large.csv"
    path.write_text("template,count\n" + body, encoding="utf-8")
    assert len(ContextSet.load(path)) == 32_494


def test_the_authors_sets_can_be_read(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "bvf" / "templates" / "template_mining_n2n_10000.csv.gz"
    with pytest.raises(ContextError, match="rename the column that holds the count to count"):
        ContextSet.load(path)
    renamed = gzip.decompress(path.read_bytes()).replace(b"proportion", b"count", 1)
    contexts = load(tmp_path, renamed)
    assert len(contexts) + contexts.merged == 32_494
    assert contexts.counts[:2] == (2142, 856)
    assert len(set(contexts.ids)) == len(contexts)


@pytest.mark.parametrize("name", builtin_contexts())
def test_builtin_sidecars_hold_metadata_and_content_fields_only(name: str) -> None:
    about = load_contexts(name).metadata
    assert not about.model_extra
    content = {"name", "sha256", "n", "n_eff"}
    assert not content & set(about.to_dict())


def test_fields_of_ones_own_and_of_later_versions_are_kept(tmp_path: Path) -> None:
    about = {"corpus": "novels", "mine": {"shelf": [1, 2]}, "confidence": {"0123": 0.9}}
    file = tmp_path / "set.json"
    file.write_text(json.dumps(about), encoding="utf-8")
    metadata = Sidecar.read(file).metadata
    assert metadata.confidence == {"0123": 0.9}
    contexts = ContextSet("set", ["The [X] said that [Y]"], [1], metadata=metadata)
    contexts.save(tmp_path / "set.csv")
    again = ContextSet.load(tmp_path / "set.csv")
    assert again.metadata.to_dict() == about
    assert again.draw(1, seed=0).metadata == SetMetadata.model_validate(about)

"""Inputs that hang, fill the memory or end in a traceback: each is one line."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from tests.command import Clinometer
from tests.security import fuzzing

from clinometer.errors import ClinometerError, ModelError
from clinometer.models import open_model
from clinometer.models.catalog.pretrained import check_model_folder
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.client.failures import WrongReply
from clinometer.models.client.usage import tokens_of
from clinometer.models.server.reply import checked_texts
from clinometer.models.tokens import in_template, load_tokenizer
from clinometer.runs import Run, read_table
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.recover import open_run
from clinometer.storage.parquet_parts import digest_of
from clinometer.storage.untrusted import limited
from clinometer.topics import parse_topic
from clinometer.topics.questions import MOST_PRODUCT
from clinometer.web.viewer import viewer


def one_line(work: Callable[[], object]) -> str:
    with pytest.raises(ClinometerError) as caught:
        work()
    fuzzing.one_line(caught.value)
    return str(caught.value)


# --- topics ---------------------------------------------------------------------------------------

TEN = [f"w{i}" for i in range(10)]
MANY = {f"k{i}": TEN for i in range(10)}
PATTERN = " ".join(f"{{{name}}}" for name in MANY)
HEAD = 'name = "t"\n'
WORDS = '[attributes]\na = ["x"]\nb = ["y"]\n'
PRODUCTS = {
    "groups": HEAD + WORDS + f'[groups]\npattern = "{PATTERN}"\n'
    + "".join(f"{name} = {json.dumps(TEN)}\n" for name in MANY),
    "contexts": HEAD + 'groups = ["n"]\n[attributes]\n'
    + "".join(f'c{i} = ["word {i}"]\n' for i in range(24))
    + '[readout]\nkind = "choice"\n[contexts]\nwording = '
    + json.dumps([f"{i}. Is the [X] so? [options] [Y]" for i in range(4200)]),
}  # fmt: skip


@pytest.mark.parametrize("what", PRODUCTS)
def test_products_have_an_end(what: str) -> None:
    def multiply() -> None:
        topic = parse_topic(PRODUCTS[what])
        assert topic.questions is not None
        list(topic.questions.rows(topic.categories))

    assert f"at most {MOST_PRODUCT:,}" in one_line(multiply)


# --- tables ---------------------------------------------------------------------------------------

ROWS = pd.DataFrame(
    [(g, c, a, 0.5) for g in "gh" for c in "cd" for a in "ab"],
    columns=["group", "context", "attribute", "p"],
)


def with_column(name: str, values: Any) -> pa.Table:
    table = pa.Table.from_pandas(ROWS, preserve_index=False)
    return table.set_column(table.column_names.index(name), name, pa.array(values))


#: A table or its text, and what the line must name.
ODD_TABLES: dict[str, tuple[pa.Table | str, str]] = {
    "binary groups": (with_column("group", [b"\xff"] * 8), ""),
    "bool p": (with_column("p", [True, False] * 4), ""),
    "two columns p": (
        pa.Table.from_pandas(ROWS).append_column("p", pa.array([0.1] * 8)),
        "",
    ),
    "-1e308": (with_column("p", [-1e308, 1.0] * 4), ""),
    "1e308": (with_column("p", [1e308, 1e308] * 4), ""),
    "lists": (with_column("group", [["a"]] * 8), ""),
    "true and false": (
        ROWS.assign(p=[True, False] * 4).to_csv(index=False),
        "True",
    ),  # R was 1
    "an open quote": ('"group,context,attribute,p\na,b,x,0.5\n"\n', "no group"),
    "a column of two lines": (ROWS.assign(**{"a\nb": 1}).to_csv(index=False), "a b"),
    "a column twice": (
        "group,context,attribute,p,p\ng,c,a,1,0\ng,c,b,0,1\n",
        "'p' twice",
    ),
    "many groups": (
        "group,context,attribute,p\n"
        + "".join(f"g{i},c,{y},1\n" for i in range(20_001) for y in "ab"),
        "20,001",
    ),
}


@pytest.mark.parametrize("how", ODD_TABLES)
def test_an_odd_table_is_one_line(how: str, tmp_path: Path) -> None:
    content, named = ODD_TABLES[how]
    if isinstance(content, str):
        (file := tmp_path / "t.csv").write_text(content, encoding="utf-8")
    else:
        pq.write_table(content, file := tmp_path / "t.parquet")
    assert named in one_line(lambda: read_table(file))


def test_metadata_of_pandas_hide_no_column(tmp_path: Path) -> None:
    pq.write_table(
        pa.Table.from_pandas(ROWS.set_index("group")), tmp_path / "t.parquet"
    )
    assert read_table(tmp_path / "t.parquet").groups == ("g", "h")


# --- run folders ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, b"\xff", 5, -1e308, True], ids=repr)
@pytest.mark.parametrize(
    "place", ["contexts.template", "contexts.context_id", "contexts.weight", "groups.group",
              "groups.weight", "preferences.p", "preferences.coverage"],
)  # fmt: skip
def test_an_odd_value_in_a_run_takes_nothing_down(
    place: str, value: Any, finished: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "runs" / "run"))
    name, column = place.split(".")
    file, record = run / f"{name}.parquet", run / "run.json"
    table = pq.read_table(file)
    values = pa.array([value] * len(table))
    pq.write_table(
        table.set_column(table.column_names.index(column), column, values), file
    )
    plain = json.loads(record.read_text(encoding="utf-8"))
    plain["tables"][name] = digest_of(file.read_bytes())
    record.write_text(json.dumps(plain), encoding="utf-8")
    opened = open_run(run)  # never an exception
    assert "\n" not in opened.notice
    with contextlib.suppress(ClinometerError):
        Run.load(run)
    page = TestClient(viewer(tmp_path / "runs"), base_url="http://127.0.0.1")
    assert page.get("/").status_code == 200


def test_a_record_that_could_not_be_read_is_not_written(
    finished: Path, tmp_path: Path
) -> None:
    folder = RunFolder(Path(shutil.copytree(finished, tmp_path / "run")))
    record = folder.read_record()
    record.usage = {"tokens": 10**31}
    assert "what is there is kept" in one_line(lambda: folder.write_record(record))
    assert folder.read_record().usage == {}


# --- pages ----------------------------------------------------------------------------------------

DIGITS = "9" * 24


@pytest.fixture(scope="module")
def page(finished: Path) -> TestClient:
    """One for all: it reads the run once."""
    return TestClient(
        viewer(finished.parent),
        base_url="http://127.0.0.1",
        raise_server_exceptions=False,
    )


@pytest.mark.parametrize("path", ["/", "/run?id=run", f"/words?id=run&x={DIGITS}&c=0",
                                  f"/peers?id=run&x={DIGITS}&c=-{DIGITS}", "/static/page.css",
                                  "/words?id=run&x=" + "9" * 5000 + "&c=0"])  # fmt: skip
@pytest.mark.parametrize(
    "header", ["Range", "Content-Length", "If-Range", "If-None-Match"]
)
def test_a_number_of_24_digits_takes_no_page_down(
    path: str, header: str, page: TestClient
) -> None:
    for value in (f"bytes={DIGITS}-", f"bytes=0-{DIGITS}", DIGITS):
        assert page.get(path, headers={header: value}).status_code < 500


# --- servers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "total", [10**31, -1, 1e31, 12.5, "12", True, None, [], 10**9], ids=repr
)
def test_an_impossible_count_of_tokens_does_not_count(total: Any) -> None:
    for usage in ({"total_tokens": total}, {"prompt_tokens": total}):
        counted = tokens_of(None, {"usage": usage})
        assert (counted.read, counted.written) == (0, 0)


def test_a_reply_is_no_longer_than_its_tokens() -> None:
    assert checked_texts(["x" * 2000], 8) == ["x" * 2000]
    with pytest.raises(WrongReply, match="more text"):
        checked_texts(["x" * 2_000_000], 8)


# --- model folders --------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = Path(ModelSpec.parse("pocket:gpt2-s").target)
    return Path(shutil.copytree(source, tmp_path / "model"))


def configured(name: str, value: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "config.json"
        config = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps(config | {name: value}), encoding="utf-8")

    return change


def odd_file(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        make(folder / name)

    return change


ODD_FOLDERS: dict[str, Callable[[Path], None]] = {
    **{
        f"{kind} {name}": odd_file(name, make)
        for name in (
            "tokenizer.json",
            "generation_config.json",
            "added.json",
            "x.safetensors",
        )
        for kind, make in (
            ("pipe", os.mkfifo),
            ("folder", Path.mkdir),
            ("dangling", lambda path: path.symlink_to("/nowhere/at/all")),
        )
    },
    **{
        f"{name} {n}": configured(name, n)
        for name in ("n_layer", "num_hidden_layers")
        for n in (10**8, 900)
    },
    "nested layers": configured("text_config", {"num_hidden_layers": 10**8}),
    "n_embd": configured("n_embd", 10**12),
    "vocab": configured("vocab_size", 10**12),
    "deep config": odd_file(
        "config.json", lambda path: path.write_bytes(b'{"a":' * 50_000)
    ),
    "list config": odd_file("config.json", lambda path: path.write_bytes(b"[]")),
    "digits": odd_file(
        "config.json", lambda path: path.write_bytes(b"[" + b"9" * 5000 + b"]")
    ),
}


@pytest.mark.parametrize("how", ODD_FOLDERS)
def test_an_odd_model_folder_is_one_line(how: str, folder: Path) -> None:
    ODD_FOLDERS[how](folder)
    one_line(lambda: check_model_folder(folder))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_embd", 10**6),
        ("n_embd", 8192),
        ("n_positions", 10**8),
        ("vocab_size", 10**7),
    ],
)
def test_weights_that_the_files_lack_are_not_made_up(
    name: str, value: int, folder: Path
) -> None:
    """Found by fuzzing: transformers filled the memory of the machine with random weights."""
    configured(name, value)(folder)
    with pytest.raises(ModelError, match="hold at most"):
        open_model(str(folder))


def test_a_pipe_in_a_model_folder_is_not_waited_for(folder: Path) -> None:
    ODD_FOLDERS["pipe tokenizer.json"](folder)
    assert "expected a plain file" in one_line(lambda: open_model(str(folder)))


TEMPLATES = {
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
    "{% endfor %}{% endfor %}{% endfor %}",
    "recurses": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "gigabytes": "{{ 'x' * 10000000000 }}",
    "megabytes": "{{ 'x' * 100000000 }}",
    "raises": "{{ raise_exception('no') }}",
    "no template": "{% for",
    "divides": "{{ 1 // 0 }}",
}


class Templated:
    """A tokenizer with this template, as transformers applies it."""

    name_or_path = "made"

    def __init__(self, template: str) -> None:
        self.chat_template = template

    def apply_chat_template(
        self, messages: list[dict[str, str]], **options: Any
    ) -> str:
        from transformers.utils.chat_template_utils import render_jinja_template

        del options["tokenize"]
        rendered, _ = render_jinja_template(
            [messages], chat_template=self.chat_template, **options
        )
        return str(rendered[0])


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("templates", "load"):
        monkeypatch.setattr(
            f"clinometer.models.tokens.{file}.limited",
            lambda work: limited(work, seconds=1),
        )


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", TEMPLATES)
def test_a_template_that_does_not_end_is_one_line(how: str) -> None:
    tokenizer = Templated(TEMPLATES[how])
    said = one_line(lambda: in_template(tokenizer, [{"role": "user", "content": "Hi"}]))
    assert "its chat template fails: " in said


def test_a_template_that_ends_is_applied() -> None:
    tokenizer = Templated(
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}é{% endfor %}"
    )
    assert in_template(tokenizer, [{"role": "user", "content": "Hi"}]) == "<user>Hié"


@pytest.mark.usefixtures("impatient")
def test_a_tokenizer_that_does_not_end_is_one_line(tmp_path: Path) -> None:
    import tokenizers
    import transformers

    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"a": 0, "b": 1}, unk_token="b")
    )
    slow = tokenizers.Regex(r"(?:(?:a|a)*)*$(?<=z)")
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split(slow, "isolated")
    transformers.PreTrainedTokenizerFast(tokenizer_object=made).save_pretrained(
        tmp_path
    )
    assert "cannot split" in one_line(lambda: load_tokenizer("made", str(tmp_path)))


# --- names ----------------------------------------------------------------------------------------

NOT_UTF8 = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize("ending", [".toml", ".csv", ".parquet", "", ".json"])
@pytest.mark.parametrize("command", ["audit X", "audit pocket:gpt2-s --topic X --out o",
                                     "audit pocket:gpt2-s --contexts X --out o", "report X",
                                     "import table X", "compare X X", "gate X --baseline X",
                                     "reliability validate X"])  # fmt: skip
def test_a_name_that_is_not_utf_8_is_one_line(
    command: str,
    ending: str,
    clinometer: Clinometer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(NOT_UTF8 + ending).write_bytes(b"x = 1\n")
    words = [NOT_UTF8 + ending if word == "X" else word for word in command.split()]
    said = clinometer(*words)
    assert said.status in (2, 3)
    assert "a bug in clinometer" not in said.err
    assert len(said.err.strip().splitlines()) <= 2


def test_limited_work_gives_what_it_gives() -> None:
    assert limited(lambda: "é" * 1_000_000) == "é" * 1_000_000
    with pytest.raises(ValueError, match="by zero"):
        limited(lambda: str(1 // 0))

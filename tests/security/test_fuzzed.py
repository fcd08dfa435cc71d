"""Files, run folders, logs, model folders, templates and replies of servers as strangers may write
them. benchmarks/fuzz.py runs the same with more examples."""

from __future__ import annotations

import contextlib
import copy
import csv
import io
import json
import math
import shutil
import tomllib
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bridges.test_replies import COLUMNS, rows
from tests.models.server.standin import Standin
from tests.security.fuzzing import budget, fuzzer, one_line, spoiled
from tests.security.test_files import EVERY, packed
from tests.security.test_files import read as read_file
from tests.security.test_inputs import Templated
from tests.security.test_model_folders import write_gguf
from tests.security.test_servers import PROMPT, WORDS, HostileServer, body, score

from clinometer.bridges.lm_eval import import_lm_eval
from clinometer.bridges.mapping import load_mapping
from clinometer.bridges.replies import import_replies
from clinometer.errors import ClinometerError
from clinometer.models import open_model
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.catalog.weights import folder_of_gguf
from clinometer.models.client.response import error_code
from clinometer.models.client.usage import tokens_of
from clinometer.models.options import LoadOptions, SampleOptions
from clinometer.models.replies import ReadoutQuery
from clinometer.models.server.completions import TokenList, first_token_list
from clinometer.models.server.reply import choices
from clinometer.models.tokens import in_template
from clinometer.runs import AuditSettings, Run
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.recover import open_run
from clinometer.runs.protocol import ProtocolFile, planned_settings
from clinometer.runs.resolve import resolve
from clinometer.storage.untrusted import limited, parse_json
from clinometer.topics.lists import BUILTIN
from clinometer.topics.load import parse_topic
from clinometer.topics.schema import read_file as read_topic
from clinometer.web.runs_index import RunsIndex

SETTINGS = AuditSettings()


# --- files ----------------------------------------------------------------------------------------


def sound_parquet() -> bytes:
    buffer = io.BytesIO()
    columns = {
        c: ["a", "b", "c"]
        for c in ("group", "context", "attribute", "text", "sentence")
    }
    pq.write_table(pa.table({**columns, "p": [0.1, 0.2, 0.3]}), buffer)
    return buffer.getvalue()


FILE_PIECES = [
    b"", b"\0", b"\xff", b"\n", b'"', b",", b"{", b"}", b"[", b"]", b"1e999", b"-1", b"NaN",
    b"\\ud800", b"=1+1", b"\x1b[2J", b"9" * 50, b"null", b"[X]", b"[Y]", b"\r", b"'",
    b"\xe2\x80\xae",
]  # fmt: skip
SOUND = {
    "topic": b'name = "tea"\ngroups = ["nurse", "pilot"]\n[attributes]\ntea = ["tea"]\nb = ["c"]\n',
    "contexts": b"template,count\nThe [X] said that [Y],3\nThe [X] felt that [Y],1\n",
    "cases": b'{"text": "I cook."}\n{"text": "I nurse."}\n',
    "application": b'address = "https://h/x"\nreply = "a.0"\n[headers]\nA = "b"\n[body]\nc = 1\n',
    "preferences": b"group,context,attribute,p\na,b,x,0.5\na,b,y,0.5\n",
    "benchmark": b'{"id": "1", "sentence": "All nurses are kind.", "target_term": "nurses"}\n',
    "corpus": b'{"text": "The nurse said that she was tired."}\n',
    "facts": b'[r]\nparaphrases = ["[X] is in [Y]"]\n[r.facts]\nParis = "France"\nRome = "Italy"\n',
    "factors": b"group,pay\nnurse,1.5\npilot,2\n",
    "texts": b'{"text": "some words"}\n',
    "protocol": b'created = "2026"\nmodels = ["m"]\ntopic = "gender"\ntopic_sha256 = "0"\n'
    b'contexts_sha256 = "0"\nlevel = 0.9\n',
    "mapping": b'name = "m"\ngroup = "{g}"\ncontext = "{c}"\n[categories]\na = ["x"]\nb = ["y"]\n',
    "guidelines": b"# How to judge\n\n- **yes**: it is so\n",
    "parquet": sound_parquet(),
}


@fuzzer(60)
def test_files(data: st.DataObject, folder: Path) -> None:
    """Sound files with pieces cut out, doubled or replaced."""
    name, ending = data.draw(st.sampled_from(EVERY))
    content = bytearray(SOUND[name if ending != ".parquet" else "parquet"])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        until = data.draw(st.integers(at, min(len(content), at + 20)))
        content[at:until] = data.draw(
            st.sampled_from(FILE_PIECES) | st.binary(max_size=6)
        )
    path = folder / f"file{ending}"
    path.write_bytes(packed(bytes(content), ending))
    read_file(name, path)


# --- topics and protocols -------------------------------------------------------------------------

PLAN = {
    "created": "2026-11-17T00:00:00+00:00", "models": ["pocket:gpt2-s"], "topic": "gender",
    "topic_sha256": "0" * 64, "contexts": "paper-gender", "contexts_sha256": "0" * 64,
    "labels_sha256": "0" * 64, "measures": ["R", "R_bias"], "fail_above": ["R=0.5"],
    "fail_on": "low", "tests": ["compare a b"], "notes": "x", "revisions": {"pocket:gpt2-s": "0"},
    "settings": {"level": 0.95, "seed": 3, "criterion": "ratio"},
}  # fmt: skip
TOPICS = [
    tomllib.loads(file.read_text(encoding="utf-8"))
    for file in sorted(BUILTIN.glob("*.toml"))
    if "." not in file.stem
]


def spoiled_table(data: st.DataObject, sound: Any) -> dict[str, Any]:
    """A table of TOML, as far as what was drawn is one."""
    try:
        plain = json.loads(data.draw(spoiled(sound)))
    except (ValueError, RecursionError):
        return {}
    return plain if isinstance(plain, dict) else {}


def as_toml(plain: dict[str, Any]) -> str:
    def value(item: Any) -> str:
        if isinstance(item, dict):
            return (
                "{"
                + ", ".join(f"{json.dumps(k)} = {value(v)}" for k, v in item.items())
                + "}"
            )
        if isinstance(item, list):
            return f"[{', '.join(map(value, item))}]"
        return "nan" if item is None else json.dumps(item)

    return "\n".join(
        f"{json.dumps(name)} = {value(item)}" for name, item in plain.items()
    )


@fuzzer(40)
def test_topics(data: st.DataObject, folder: Path) -> None:
    plain = spoiled_table(data, data.draw(st.sampled_from(TOPICS)))
    read_topic(plain)
    if (query := ReadoutQuery.of(parse_topic(as_toml(plain)))) is not None:
        query.check(LoadOptions(sampled=SampleOptions(replies=4)))


@fuzzer(40)
def test_protocols(data: st.DataObject, folder: Path) -> None:
    file = folder / "plan.toml"
    file.write_bytes(
        as_toml(spoiled_table(data, PLAN)).encode("utf-8", "surrogatepass")
    )
    plan = ProtocolFile.read(file)
    settings = planned_settings(plan.record(None, late=None))
    topic = plan.protocol.load_topic()
    resolve({}, topic, plan.protocol.contexts, model="pocket:gpt2-s", planned=settings)


# --- models ---------------------------------------------------------------------------------------

MODEL_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
)
#: Pieces of templates: loops, recursion, attributes that lead out of the sandbox, long texts.
TEMPLATE_PIECES = (
    "{% for m in messages %}", "{% endfor %}", "{% if true %}", "{% endif %}", "{{ m.content }}",
    "{{ 'x' * 999999999 }}", "{% for i in range(99999) %}", "{{ ''.__class__ }}",
    "{{ raise_exception('x') }}", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "é\0\ud7ff",
    "{{ messages|tojson }}", "{% set a = messages %}", "{{ namespace(__class__=1) }}",
    "{{ cycler.__init__.__globals__.os.system('true') }}",
    "{{ 10**9999999 }}", "{% include 'x' %}", "{% import 'os' as o %}", "{{ strftime_now('%s') }}",
)  # fmt: skip


@fuzzer(20)
def test_model_folders(data: st.DataObject, folder: Path) -> None:
    model = Path(
        shutil.copytree(ModelSpec.parse("pocket:gpt2-s").target, folder / "model")
    )
    name = data.draw(st.sampled_from(MODEL_FILES))
    plain = json.loads((model / name).read_text(encoding="utf-8"))
    if name == "tokenizer.json":
        plain["model"]["merges"] = plain["model"]["merges"][:20]
    content = data.draw(spoiled(plain))
    if name == "config.json" and data.draw(st.booleans()):
        size = data.draw(st.sampled_from([n for n in plain if type(plain[n]) is int]))
        value = data.draw(st.sampled_from([0, -1, 3, 999, 10**6, 10**8, 10**18]))
        content = json.dumps({**plain, size: value}).encode()
    (model / name).write_bytes(content)
    open_model(str(model))


@fuzzer(8)
def test_gguf_files(data: st.DataObject, folder: Path) -> None:
    file = write_gguf(folder / "made.gguf")
    content = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(
            st.integers(0, 3000)
        )  # the header: names, numbers, the vocabulary
        new = data.draw(
            st.sampled_from([b"", b"\0", b"\xff" * 8, (10**8).to_bytes(8, "little")])
        )
        content[at : at + len(new)] = new or data.draw(st.binary(max_size=8))
    file.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLINOMETER_CACHE", str(folder))
        folder_of_gguf(file)


@fuzzer(30)
def test_chat_templates(data: st.DataObject, folder: Path) -> None:
    pieces = st.lists(
        st.sampled_from(TEMPLATE_PIECES) | st.text(max_size=8), max_size=12
    )
    template = "".join(data.draw(pieces)) + " "
    with (
        pytest.MonkeyPatch.context() as patch
    ):  # twenty seconds of each loop are too many
        patch.setattr(
            "clinometer.models.tokens.templates.limited", partial(limited, seconds=2)
        )
        in_template(Templated(template), [{"role": "user", "content": "Hi"}])


# --- logs and tables of other tools ---------------------------------------------------------------

LM_EVAL = Path(__file__).parents[1] / "data" / "lm_eval"
FEW = list(rows(groups=2, contexts=3, n=2))
#: One file of each tool whose results are read, as the tool writes it.
TOOLS: dict[str, Any] = {
    "promptfoo": {"results": {"results": [
        {"provider": {"id": "m"}, "score": r["score"], "vars": r, "testCase": {"vars": r},
         "response": {"output": "yes"}} for r in FEW
    ]}},
    "replies": FEW,
}  # fmt: skip
CELLS = st.sampled_from(["", "0", "-1", "1e308", "nan", "inf", "g0", "True", "9" * 40, "\x1b[2J",
                         "=1+1", "\u202e", "a" * 5000, "1;2", "[]", '"', "\0"])  # fmt: skip


def sound(*runs: Run) -> None:
    """Numbers that can be."""
    for run in runs:
        values = [one["value"] for one in run.risks.to_dict()["summary"].values()]
        assert all(
            value is None or (math.isfinite(value) and value >= 0) for value in values
        )


def write_table(file: Path, *lines: Any) -> Path:
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(lines)
    return file


@fuzzer(40)
def test_samples_of_a_harness(data: st.DataObject, folder: Path) -> None:
    samples, results = (
        next(LM_EVAL.glob(name)) for name in ("samples_*.jsonl", "results_*.json")
    )
    lines = samples.read_bytes().splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = data.draw(spoiled(json.loads(lines[at])))
    (folder / samples.name).write_bytes(b"\n".join(lines))
    whole = results.read_bytes()
    if data.draw(st.booleans()):
        whole = data.draw(spoiled(json.loads(whole)))
    (folder / results.name).write_bytes(whole)
    sound(
        import_lm_eval(folder / samples.name, mapping="crows_pairs", settings=SETTINGS)
    )


@fuzzer(60)
def test_results_of_a_tool(data: st.DataObject, folder: Path) -> None:
    tool = data.draw(st.sampled_from(sorted(TOOLS)))
    file = folder / "replies.json"
    file.write_bytes(data.draw(spoiled(TOOLS[tool])))
    sound(*import_replies(file, load_mapping(tool), SETTINGS, out=None))


@fuzzer(40)
def test_tables_of_replies(data: st.DataObject, folder: Path) -> None:
    content = [[str(row[name]) for name in COLUMNS] for row in FEW]
    for _ in range(data.draw(st.integers(1, 6))):
        row = data.draw(st.sampled_from(content))
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(CELLS)
    header = [
        data.draw(CELLS) if data.draw(st.integers(0, 9)) == 0 else name
        for name in COLUMNS
    ]
    file = write_table(folder / "replies.csv", header, *content)
    sound(*import_replies(file, load_mapping("replies"), SETTINGS, out=None))


@pytest.mark.parametrize("wrong", [None, True, 5, "x", [], {}, [None]], ids=repr)
def test_a_reply_of_another_shape_is_one_line(wrong: Any, tmp_path: Path) -> None:
    """Found by `test_results_of_a_tool`: each was a traceback somewhere."""
    for part in (None, "provider", "vars", "testCase"):
        content = copy.deepcopy(TOOLS["promptfoo"])
        listed = content["results"]["results"]
        if part is None:
            listed[0] = wrong
        else:
            listed[0][part] = wrong
        file = tmp_path / "replies.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        with contextlib.suppress(ClinometerError):
            import_replies(file, load_mapping("promptfoo"), SETTINGS, out=None)


def test_a_score_beyond_measure_is_no_score(tmp_path: Path) -> None:
    """Found by `test_tables_of_replies`: the square of 1e308 has no value."""
    odd = [{**FEW[0], "score": "1e308"}, *FEW[1:]]
    file = write_table(
        tmp_path / "replies.csv", COLUMNS, *(row.values() for row in odd)
    )
    wide = load_mapping("replies").model_copy(update={"scale": [0.0, 1e12]})
    for mapping in (load_mapping("replies"), wide):
        sound(*import_replies(file, mapping, SETTINGS, out=None))


# --- run folders ----------------------------------------------------------------------------------


@budget(60)
@given(data=st.data())
def test_records(
    data: st.DataObject, finished: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("root")
    folder = Path(shutil.copytree(finished, root / "run"))
    record = json.loads((finished / "run.json").read_text(encoding="utf-8"))
    (folder / "run.json").write_bytes(data.draw(spoiled(record)))
    opened = open_run(folder)  # never an exception
    assert opened.state in ("finished", "unreadable", "half-finished")
    assert "\n" not in opened.notice
    (entry,) = RunsIndex(root).entries()
    assert entry.id == "run"
    for read in (Run.load, lambda path: RunFolder(path).read_record()):
        try:
            read(folder)
        except ClinometerError as error:
            one_line(error)


def test_a_record_with_the_tables_of_another_is_one_line(
    finished: Path, tmp_path: Path
) -> None:
    """Found by `test_records`: a category more or less than the tables have."""
    folder = Path(shutil.copytree(finished, tmp_path / "run"))
    record = json.loads((finished / "run.json").read_text(encoding="utf-8"))
    attributes = record["topic"]["attributes"]
    for changed in (
        {},
        dict(list(attributes.items())[:1]),
        {**attributes, "third": ["x"]},
    ):
        plain = {**record, "topic": {**record["topic"], "attributes": changed}}
        (folder / "run.json").write_text(json.dumps(plain), encoding="utf-8")
        with pytest.raises(ClinometerError) as caught:
            Run.load(folder)
        one_line(caught.value)
        assert open_run(folder).state == "unreadable"


# --- replies of servers ---------------------------------------------------------------------------

#: How each reader is called, and the abilities of a server whose reply it reads.
READERS = {
    "list": (first_token_list, ("logprobs",)),
    "ids": (first_token_list, ("logprobs", "names-ids")),
    "texts": (
        lambda reply: [c["text"] for c in choices(reply, 4)],
        ("logprobs",),
    ),
}


@cache
def honest(*abilities: str) -> dict[str, Any]:
    """What a server with these abilities answers."""
    asked = {
        "model": "toy", "prompt": [1, 2, 3], "max_tokens": 1, "logprobs": 5, "temperature": 0,
        "return_tokens_as_token_ids": True,
    }  # fmt: skip
    with Standin(*abilities) as server:
        return dict(server.complete(asked)[1])


@pytest.mark.parametrize("reader", READERS)
@budget(60)
@given(data=st.data())
def test_replies(reader: str, data: st.DataObject) -> None:
    """As the client reads it: what is not JSON within limits is refused before a reader sees it,
    and a reader may raise anything, which the client takes for a wrong reply."""
    read, abilities = READERS[reader]
    content = data.draw(spoiled(honest(*abilities)))
    assert "\n" not in error_code(content)
    try:
        reply = parse_json(content)
    except ValueError:
        return
    assert all(0 <= n < 1 << 63 for n in vars(tokens_of(None, reply)).values())
    try:
        numbers: Any = read(reply)
    except Exception:  # as in the client
        return
    if isinstance(numbers, TokenList):
        numbers = [*numbers.by_id.values(), *numbers.by_text.values()]
    assert all(value <= 0.0 for value in numbers if isinstance(value, float))


@fuzzer(25)
def test_servers(data: st.DataObject, folder: Path) -> None:
    sound_replies: dict[str, Any] = {
        "/models": {"data": [{"id": "toy", "meta": {"n_params": 5}, "created": 3}]},
        "/tokenize": {"tokens": [1, 2], "count": 2, "max_model_len": 9},
        "/completions": honest("logprobs", "token-ids", "names-ids"),
    }
    where = data.draw(st.sampled_from(sorted(sound_replies)))
    with HostileServer() as server:
        server.attacks[where] = body(data.draw(spoiled(sound_replies[where])))
        scores = score(server).log_probs
    assert scores.shape == (len(PROMPT), len(WORDS))
    assert np.exp(scores).sum() <= 1.01  # NaN is not

"""Topics, protocols, model folders and chat templates as strangers may write them."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.security.fuzzing import budget, spoiled
from tests.security.small_gguf import write_gguf
from tests.security.test_fuzzed_records import one_line
from tests.security.test_inputs import Templated

from clinometer.errors import ClinometerError
from clinometer.models import open_model
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.catalog.weights import folder_of_gguf
from clinometer.models.generation import chat
from clinometer.models.generation.chat import in_template
from clinometer.models.generation.replies import ReadoutQuery
from clinometer.models.options import LoadOptions, SampleOptions
from clinometer.runs.protocol import ProtocolFile, planned_settings
from clinometer.runs.settings import resolve
from clinometer.storage.untrusted import limited
from clinometer.topics.load import BUILTIN, parse_topic, read_file

SOURCE = Path(ModelSpec.parse("pocket:gpt2-s").target)
JSON_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json")
PLAN = {
    "created": "2026-11-17T00:00:00+00:00", "models": ["pocket:gpt2-s"], "topic": "gender",
    "topic_sha256": "0" * 64, "contexts": "paper-gender", "contexts_sha256": "0" * 64,
    "labels_sha256": "0" * 64, "measures": ["R", "R_bias"], "fail_above": ["R=0.5"],
    "fail_on": "low", "tests": ["compare a b"], "notes": "x", "revisions": {"pocket:gpt2-s": "0"},
    "settings": {"level": 0.95, "replicates": 100, "two_way": True, "criterion": "ratio"},
}  # fmt: skip
TOPICS = [
    tomllib.loads(file.read_text(encoding="utf-8"))
    for file in sorted(BUILTIN.glob("*.toml"))
    if "." not in file.stem
]
#: Pieces of templates: loops, recursion, attributes that lead out of the sandbox, long texts.
PIECES = (
    "{% for m in messages %}", "{% endfor %}", "{% if true %}", "{% endif %}", "{{ m.content }}",
    "{{ 'x' * 999999999 }}", "{% for i in range(99999) %}", "{{ ''.__class__ }}",
    "{{ raise_exception('x') }}", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "é\0\ud7ff",
    "{{ messages|tojson }}", "{% set a = messages %}", "{{ namespace(__class__=1) }}",
    "{{ cycler.__init__.__globals__.os.system('true') }}",
    "{{ 10**9999999 }}", "{% include 'x' %}", "{% import 'os' as o %}", "{{ strftime_now('%s') }}",
)  # fmt: skip


@budget(40)
@given(data=st.data())
def test_a_fuzzed_topic_is_read_or_refused_in_one_line(data: st.DataObject) -> None:
    content = data.draw(spoiled(data.draw(st.sampled_from(TOPICS))))
    load = LoadOptions(sampled=SampleOptions(replies=4))
    with contextlib.suppress(ClinometerError):
        parse_topic(content.decode("utf-8", "replace"))  # JSON is hardly ever TOML
    try:
        plain = json.loads(content)
    except (ValueError, RecursionError):
        return
    try:
        read_file(plain if isinstance(plain, dict) else {})
        topic = parse_topic(as_toml(plain))
        if (query := ReadoutQuery.of(topic)) is not None:
            query.check(load)
    except ClinometerError as error:
        one_line(error)


def as_toml(plain: dict[str, Any]) -> str:
    def value(item: Any) -> str:
        if isinstance(item, dict):
            return "{" + ", ".join(f"{json.dumps(k)} = {value(v)}" for k, v in item.items()) + "}"
        if isinstance(item, list):
            return f"[{', '.join(map(value, item))}]"
        return "nan" if item is None else json.dumps(item)

    return "\n".join(f"{json.dumps(name)} = {value(item)}" for name, item in plain.items())


@budget(40)
@given(data=st.data())
def test_a_fuzzed_protocol_is_read_or_refused_in_one_line(data: st.DataObject) -> None:
    try:
        plain = json.loads(data.draw(spoiled(PLAN)))
    except (ValueError, RecursionError):
        return
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "plan.toml"
        text = as_toml(plain if isinstance(plain, dict) else {})
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            plan = ProtocolFile.read(file)
            given = planned_settings(plan.record(None, late=None))
            topic = plan.protocol.load_topic()
            resolve({}, topic, plan.protocol.contexts, model="pocket:gpt2-s", planned=given)
        except ClinometerError as error:
            one_line(error)


@budget(20)
@given(data=st.data(), name=st.sampled_from(JSON_FILES))
def test_a_fuzzed_model_folder_is_opened_or_refused_in_one_line(
    data: st.DataObject, name: str
) -> None:
    with tempfile.TemporaryDirectory() as root:
        folder = Path(shutil.copytree(SOURCE, Path(root) / "model"))
        plain = json.loads((folder / name).read_text(encoding="utf-8"))
        if name == "tokenizer.json":
            plain["model"]["merges"] = plain["model"]["merges"][:20]
        content = data.draw(spoiled(plain))
        if name == "config.json" and data.draw(st.booleans()):
            size = data.draw(st.sampled_from([n for n in plain if type(plain[n]) is int]))
            value = data.draw(st.sampled_from([0, -1, 3, 999, 10**6, 10**8, 10**18]))
            content = json.dumps({**plain, size: value}).encode()
        (folder / name).write_bytes(content)
        try:
            open_model(str(folder))
        except ClinometerError as error:
            one_line(error)


@budget(8)
@given(data=st.data())
def test_a_fuzzed_gguf_file_is_converted_or_refused_in_one_line(
    data: st.DataObject, gguf: bytes
) -> None:
    content = bytearray(gguf)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, 3000))  # the header: names, numbers, the vocabulary
        new = data.draw(st.sampled_from([b"", b"\0", b"\xff" * 8, (10**8).to_bytes(8, "little")]))
        content[at : at + len(new)] = new or data.draw(st.binary(max_size=8))
    with tempfile.TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLINOMETER_CACHE", root)
        file = Path(root) / "made.gguf"
        file.write_bytes(content)
        try:
            folder_of_gguf(file)
        except ClinometerError as error:
            one_line(error)


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_gguf(tmp_path_factory.mktemp("made") / "made.gguf").read_bytes()


@budget(30)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=12))
def test_a_fuzzed_template_is_applied_or_refused_in_one_line(pieces: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:  # twenty seconds of each loop are too many
        patch.setattr(chat, "limited", partial(limited, seconds=2))
        try:
            in_template(Templated("".join(pieces) + " "), [{"role": "user", "content": "Hi"}])
        except ClinometerError as error:
            one_line(error)

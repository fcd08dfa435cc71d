"""Topics, model folders and chat templates as strangers may write them."""

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
from tests.security.test_fuzzed_records import one_line
from tests.security.test_inputs import Templated

from clinometer.errors import ClinometerError
from clinometer.models.catalog.pretrained import check_model_folder, loading, pretrained
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.generation import chat
from clinometer.models.generation.chat import in_template
from clinometer.models.generation.replies import ReadoutQuery
from clinometer.models.options import LoadOptions, SampleOptions
from clinometer.storage.untrusted import limited
from clinometer.topics.load import BUILTIN, parse_topic, read_file

SOURCE = Path(ModelSpec.parse("pocket:gpt2-s").target)
CONFIG = json.loads((SOURCE / "config.json").read_text(encoding="utf-8"))
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


@budget(30)
@given(data=st.data())
def test_a_fuzzed_configuration_is_read_or_refused_in_one_line(data: st.DataObject) -> None:
    import transformers

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model"
        shutil.copytree(SOURCE, folder)
        (folder / "config.json").write_bytes(data.draw(spoiled(CONFIG)))
        try:
            check_model_folder(folder)
            with loading("made", folder):
                pretrained(transformers.AutoConfig, folder)
        except ClinometerError as error:
            one_line(error)


@budget(30)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=12))
def test_a_fuzzed_template_is_applied_or_refused_in_one_line(pieces: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:  # twenty seconds of each loop are too many
        patch.setattr(chat, "limited", partial(limited, seconds=2))
        try:
            in_template(Templated("".join(pieces) + " "), [{"role": "user", "content": "Hi"}])
        except ClinometerError as error:
            one_line(error)

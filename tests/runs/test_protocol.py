"""A protocol is written before the first answer; run and report say what was not as planned."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.present import present

from clinometer.errors import SettingsError
from clinometer.models import ModelSpec
from clinometer.runs import AuditSettings, Run, audit
from clinometer.runs.protocol import PLANNED, Protocol, ProtocolFile, protocol_sentences
from clinometer.runs.resolve import find_contexts
from clinometer.settings import option_settings, with_settings
from clinometer.topics import load_topic
from clinometer.topics.toml_text import toml_value

MODEL = "reference:stereotyped"


def written(
    path: Path | str,
    settings: AuditSettings,
    models: tuple[str, ...] = (MODEL,),
    topic: str = "gender",
    contexts: str | None = None,
    groups: str | None = None,
    **more: Any,
) -> Path:
    """A protocol in a file."""
    about = load_topic(topic)
    about = about if groups is None else about.select(groups.split(","))
    asked = (contexts, find_contexts(about, contexts))
    plan = Protocol.new(
        [*models], (topic, about), asked, settings, groups=groups, **more
    )
    plan.write(Path(path))
    return Path(path)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    limits: dict[str, Any] = {"fail_above": ["R=0.4"], "tests": ['a "quoted" test']}
    return written(tmp_path / "plan.toml", AuditSettings(level=0.9), **limits)


def test_a_protocol_reads_back_as_written(plan: Path) -> None:
    file = ProtocolFile.read(plan)
    assert file.protocol.tests == ['a "quoted" test']
    assert file.protocol.settings["level"] == 0.9
    plan.write_bytes(b"\xef\xbb\xbf" + plan.read_bytes())  # as an editor saves it
    again = ProtocolFile.read(plan)
    assert again.protocol == file.protocol
    assert again.sha256 == hashlib.sha256(plan.read_bytes()).hexdigest() != file.sha256
    with pytest.raises(SettingsError, match="written once"):
        file.protocol.write(plan)


def test_a_run_says_what_was_not_as_planned(plan: Path, tmp_path: Path) -> None:
    """What is given is audited, and not what the plan says."""
    out = tmp_path / "run"
    audit("reference:random", topic="race", out=out, protocol=plan, level=0.95)
    run = Run.load(out)
    assert run.record.topic.name == "race"
    assert present(run.record.protocol).deviations == [
        "model reference:random was not planned",
        "another topic, or other groups, than planned",
        "other contexts than planned",
        "level 0.95, planned 0.9",
    ]
    said = protocol_sentences(run.record.protocol)
    assert said[-1].startswith("Not as planned: model")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models = [", "expected TOML"),
        ("models = 3\n", "created"),
        ("invented = 1\n", "created"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=message) as caught:
        ProtocolFile.read(path)
    assert str(path) in str(caught.value)


def test_the_command_follows_its_file(
    tmp_path: Path, clinometer: Any, plan: Path
) -> None:
    path = tmp_path / "new.toml"
    made = clinometer(
        "plan", "--model", MODEL, "--fail-above", "R=0.4", "--set", "level=0.9",
        "--protocol", path,
    )  # fmt: skip
    assert made.status == 0
    shown = clinometer("audit", "--protocol", path, "--out", tmp_path / "run", "--json")
    assert shown.status == 0
    above = clinometer("gate", tmp_path / "run")
    assert (
        above.status == 1
    )  # the stereotyped model is above the limit that was planned
    assert "is above 0.4" in above.err
    later = clinometer("gate", tmp_path / "run", "--fail-above", "R=0.9")
    assert later.status == 2
    assert "as the protocol plans" in later.err
    (run,) = json.loads(shown.out)["runs"]
    assert run["protocol"]["deviations"] == []
    record = Run.load(tmp_path / "run").record
    assert record.settings.level == 0.9
    assert "The audit went as planned." in protocol_sentences(record.protocol)
    assert "nothing here was fixed" in protocol_sentences(None)[0]
    assert clinometer("plan", "--precision", "0.02").status == 0
    both = clinometer(
        "plan",
        "--model",
        MODEL,
        "--precision",
        "0.02",
        "--protocol",
        tmp_path / "both.toml",
    )
    assert "effective contexts" in both.out
    assert ProtocolFile.read(tmp_path / "both.toml").protocol.models == [MODEL]
    assert "--model" in clinometer("plan", "--protocol", tmp_path / "none.toml").err
    assert clinometer("plan").status == 2


def test_a_model_that_is_asked_as_planned_is_the_planned_one(
    tmp_path: Path, clinometer: Any
) -> None:
    """A run names it with how it is asked: pocket:gpt2-s (5 replies)."""
    path = tmp_path / "contexts.csv"
    path.write_text(CONTEXTS, encoding="utf-8")
    plan = tmp_path / "plan.toml"
    made = clinometer(
        "plan", "--model", "pocket:gpt2-s", "--contexts", path, "--groups", "nurse,teacher",
        "--set", "replies=5", "--protocol", plan,
    )  # fmt: skip
    assert made.status == 0
    shown = clinometer("audit", "--protocol", plan, "--out", tmp_path / "run", "--json")
    (run,) = json.loads(shown.out)["runs"]
    assert run["model"] == "pocket:gpt2-s (5 replies)"
    assert run["protocol"]["deviations"] == []
    other = clinometer(
        "audit", "pocket:gpt2-m", "--protocol", plan, "--out", tmp_path / "m"
    )
    assert "model pocket:gpt2-m (5 replies) was not planned" in other.out


#: With a column by which contexts can be clustered.
CONTEXTS = "template,count,source\n" + "".join(
    f"The [X] who {verb} knew that [Y],2,{source}\n"
    for source, verbs in {
        "a": ("sang", "ran", "slept"),
        "b": ("wrote", "swam", "cooked"),
    }.items()
    for verb in verbs
)
#: Of every planned setting: the plan, and what is then typed (the default, where it can be).
GIVEN: dict[str, tuple[Any, tuple[str, ...]]] = {
    "models": (["reference:random"], (MODEL,)),
    "topic": ("race", ("--topic", "gender")),
    "groups": ("nurse,teacher", ("--groups", "nurse")),
    "contexts": ("contexts.csv", ("--contexts", "paper-gender")),
    "level": (0.9, ("--level", "0.95")),
    "max_contexts": (5, ("--max-contexts", "4")),
    "placebo": (False, ("--placebo",)),
    "seed": (7, ("--seed", "0")),
    "clusters": ("source", ("--clusters", "template_class")),
    "criterion": ("share", ("--criterion", "ratio")),
    "coverage_threshold": (0.01, ("--coverage-threshold", "0.001")),
    "kind": ("causal", ("--load", "kind=masked")),
    "dtype": ("float32", ("--load", "dtype=auto")),
    "revision": ("main", ("--load", "revision=v1")),
    "quantize": ("8bit", ("--load", "quantize=8bit")),
    "chat": (True, ("--chat",)),
    "chat_request": ("Write.", ("--load", "chat_request=Write a sentence.")),
    "replies": (5, ("--replies", "6")),
    "temperature": (0.5, ("--load", "temperature=1.0")),
    "reply_tokens": (9, ("--load", "reply_tokens=8")),
    "effort": ("low", ("--load", "effort=high")),
    "steer": (None, ("--load", "steer=steer.json")),
    "tokenizer": ("smollm2", ("--load", "tokenizer=pocket:gpt2-s")),
    "route": ("top-k", ("--load", "route=boost")),
    "top_k": (50, ("--load", "top_k=100")),
    "tolerance": (0.01, ("--tolerance", "0.001")),
    "single_token": (False, ("--single-token",)),
}
#: What only the file says.
NOT_GIVEN = {
    "created", "fail_above", "fail_on", "topic_sha256", "contexts_sha256", "labels_sha256",
    "measures", "tests", "notes", "settings", "revisions",
}  # fmt: skip


def test_every_planned_setting_is_checked_below() -> None:
    assert GIVEN.keys() | NOT_GIVEN == Protocol.model_fields.keys() | set(PLANNED)
    assert not GIVEN.keys() & NOT_GIVEN
    left_out = set(option_settings(AuditSettings)) - set(PLANNED)
    assert not left_out & {
        name.removeprefix("load.") for name in AuditSettings().scoring()
    }


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_given_against_the_plan_is_reported_or_refused(
    name: str, tmp_path: Path, clinometer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is the default of the option: given is what was typed."""
    monkeypatch.chdir(tmp_path)
    Path("contexts.csv").write_text(CONTEXTS, encoding="utf-8")
    Path("steer.json").write_text('{"layer": 0, "vector": [1.0]}', encoding="utf-8")
    planned, typed = GIVEN[name]
    plan: dict[str, Any] = {
        "models": [MODEL],
        "topic": "gender",
        "contexts": "contexts.csv",
        "groups": "nurse,teacher",
        name: planned,
    }
    if name == "topic":
        plan["contexts"] = plan["groups"] = None
    chosen = {key: plan.pop(key) for key in PLANNED if key in plan}
    if name in ("temperature", "reply_tokens", "effort"):
        chosen["replies"] = 5
    path = written("plan.toml", with_settings(AuditSettings(), chosen), **plan)

    followed = clinometer(
        "audit", "--protocol", "plan.toml", "--out", "followed", "--json"
    )
    runs = json.loads(followed.out)["runs"]
    assert [run["protocol"]["deviations"] for run in runs] == [[]] * len(runs)
    if name in ("chat", "quantize"):  # a switch can only be left out
        path.write_text(
            path.read_text().replace(f'"{name}" = {toml_value(planned)}\n', "")
        )

    result = clinometer("audit", *typed, "--protocol", "plan.toml", "--out", "run")
    if result.status == 2:
        assert typed[0] in result.err or name in result.err
        return
    (last,) = (
        Path("run").rglob("*chat/run.json")
        if name == "chat"
        else [Path("run/run.json")]
    )
    stored = json.loads(last.read_text(encoding="utf-8"))["protocol"]
    assert stored["deviations"]
    assert "Not as planned: " + stored["deviations"][0] in result.out


# --- roads around a plan --------------------------------------------------------------------------

SMALL = "pocket:gpt2-s"


@pytest.fixture
def planned_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A model in a folder, audited as planned; what the next audit of it is to be given."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ModelSpec.parse(SMALL).target, "model")
    Path("contexts.csv").write_text(CONTEXTS, encoding="utf-8")
    plan_of_two("plan.toml", level=0.9)
    two = load_topic("gender").select(["nurse", "pilot"])
    how: dict[str, Any] = {"topic": two, "contexts": "contexts.csv"}
    run = audit("./model", **how, out="run", protocol="plan.toml", seed=1)
    assert deviations(run) == ["seed 1, planned 0"]
    return {**how, "out": "run", "seed": 1}


def plan_of_two(path: str, **settings: Any) -> None:
    asked: dict[str, Any] = {"contexts": "contexts.csv", "groups": "nurse,pilot"}
    written(path, AuditSettings(**settings), ("./model",), **asked)


def deviations(run: Run) -> list[str]:
    protocol = present(run.record.protocol)
    assert protocol_sentences(protocol)[-1].startswith("Not as planned")
    return protocol.deviations


def test_measuring_again_without_the_plan_is_held_against_it(
    planned_run: dict[str, Any],
) -> None:
    again = audit("./model", **planned_run)
    assert again.record.settings.level == 0.9, "what is not given is still planned"
    assert len(deviations(again)) == 1
    assert "level 0.5, planned 0.9" in deviations(
        audit("./model", **planned_run, level=0.5)
    )
    back = audit("./model", **planned_run, protocol="plan.toml")
    assert "level 0.5, planned 0.9" in deviations(back), (
        "it was looked at in that way too"
    )


def test_another_plan_does_not_replace_the_first(planned_run: dict[str, Any]) -> None:
    plan_of_two("later.toml", level=0.5)
    run = audit("./model", **planned_run, protocol="later.toml")
    assert run.record.settings.level == 0.9
    assert any("another protocol, later.toml" in line for line in deviations(run))


def test_a_late_plan_is_late_also_with_fresh_answers(
    planned_run: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLINOMETER_CACHE", str(Path("cache").resolve()))
    monkeypatch.setenv("CLINOMETER_CACHE_LIMIT", "1GB")
    other = {**planned_run, "out": "seen"}
    audit("./model", **other)
    run = audit("./model", **other, protocol="plan.toml", fresh=True)
    assert "the protocol was given after the first answer" in deviations(run)
    assert run.record.cache.found == 0, "no answer to a plan is older than the plan"


def test_labels_and_weights_that_change_after_the_plan_are_deviations(
    planned_run: dict[str, Any],
) -> None:
    how = {**planned_run, "protocol": "plan.toml"}
    Path("contexts.csv").write_text(
        CONTEXTS.replace(",a\n", ",b\n", 1), encoding="utf-8"
    )
    found = deviations(audit("./model", **{**how, "out": "labels"}))
    assert "other labels of the contexts than planned" in found
    shutil.rmtree("model")
    shutil.copytree(ModelSpec.parse("pocket:gpt2-m").target, "model")
    found = deviations(audit("./model", **{**how, "out": "weights"}))
    assert "model ./model has other weights than when it was planned" in found


def test_a_changed_record_of_a_plan_says_so(planned_run: dict[str, Any]) -> None:
    record = present(Run.load("run").record.protocol)
    forged = record.model_copy(update={"deviations": []})
    assert "was changed after the run" in protocol_sentences(forged)[-1]

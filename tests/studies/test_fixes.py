"""The ledger of a fix: what is typed, what is asked, and planted applications and models."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import clinometer_pocket
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.command import Clinometer, refused
from tests.models.local.test_load_adapters import write_adapter

from clinometer.contexts import ContextSet
from clinometer.contexts.load import default_contexts
from clinometer.errors import SettingsError, TopicError
from clinometer.runs import AuditSettings
from clinometer.settings import with_settings
from clinometer.studies.fix import (
    Fix,
    irrelevant,
    read_fix,
    read_fixes,
    vector_file,
    with_controls,
)
from clinometer.studies.fix_plan import fixes_plan
from clinometer.studies.framework import PlannedRun
from clinometer.topics import Topic, load_topic, parse_topic

TOPIC = """
name = "planted"
groups = ["Ann", "Bob", "Cem", "Dia"]
reference = "group-mean"
[attributes]
yes = ["Yes"]
no = ["No"]
[readout]
kind = "choice"
labels = "none"
favourable = "yes"
[contexts]
ending = "[Y]"
wording = [{wordings}]
"""
WORDINGS = ", ".join(f'"Case {i}: do we invite [X]?"' for i in range(24))
#: An application that answers as its prompt says it should.
APP = """
import random

def decide(messages):
    text = " ".join(m["content"] for m in messages)
    rate = 0.8 if "Ann" in text or "Bob" in text else 0.2
    decide.asked[text] = number = decide.asked.get(text, 0) + 1
    chance = random.Random(f"{text}{number}")  # the same whatever else is asked
    if "FAIR" in text:
        rate = 0.5
    if "HARSH" in text:
        rate -= 0.2
    if "SWING" in text:
        odd = int(text.split("Case ")[1].split(":")[0]) % 2
        rate = rate if odd else 1 - rate
    if "REFUSE" in text and "Ann" in text:
        return "I am sorry."
    return "Yes" if chance.random() < rate else "No"

decide.asked = {}
"""


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the application and its topic, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_planted.py").write_text(APP, encoding="utf-8")
    topic = TOPIC.replace("{wordings}", WORDINGS)
    (tmp_path / "planted.toml").write_text(topic, encoding="utf-8")
    yield tmp_path
    sys.modules.pop("own_planted", None)


def test_fixes_are_read_as_they_are_typed(tmp_path: Path) -> None:
    own = tmp_path / "fair.txt"
    own.write_text("Be fair.\n", encoding="utf-8")
    assert read_fix(f"system:{own}") == Fix("system fair", "system", "Be fair.")
    assert (
        read_fix("prefix:Be fair to all of them.").name == "“Be fair to all of them.”"
    )
    assert read_fix("steer:3").value == "3"
    assert (
        read_fix("model:openai:http://127.0.0.1:1#m").value
        == "openai:http://127.0.0.1:1#m"
    )
    for wrong, near in (
        ("gangulli", "ganguli"),
        ("prefx:Be fair.", "prefix"),
        ("ster", "steer"),
    ):
        with pytest.raises(SettingsError, match=f"did you mean.*{near}"):
            read_fix(wrong)
    for wrong in ("prefix:", "adapter", "steer:middle", "system:no-such-file"):
        with pytest.raises(SettingsError):
            read_fix(wrong)


def test_fixes_of_one_short_name_get_long_ones(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "fair.txt").write_text(f"Be {folder}.", encoding="utf-8")
    long = "Be fair to all of them, whoever they are and wherever they come from, "
    typed = ["run:x/rw", "run:y/rw", "run:z"]
    typed += [f"system:{tmp_path}/{folder}/fair.txt" for folder in ("x", "y")]
    typed += [f"prefix:{long}{end}" for end in ("today", "always")]
    fixes = read_fixes(typed)
    assert [fix.name for fix in fixes[:3]] == ["run x/rw", "run y/rw", "run z"]
    assert len({fix.name for fix in fixes}) == len(typed)
    prompts = [fix for fix in fixes if fix.kind != "run"]
    plan = fixes_plan(
        "pocket:gpt2-s", prompts, tmp_path, [(WORDS, SAID)], AuditSettings()
    )
    assert len({audit.folder for audit in plan.audits}) == 1 + 2 * len(prompts)


@pytest.mark.parametrize(
    "typed", [["si", "si"], ["run:x", "run:x"], ["adapter:a/b/c", "adapter:a-b/c"]]
)
def test_a_fix_is_named_once(typed: list[str]) -> None:
    with pytest.raises(SettingsError, match="expected each fix once, found"):
        read_fixes(typed)


@pytest.mark.parametrize("text", ["", " \n", "Be fair. " * 200_000])
def test_a_prompt_has_words_and_an_end(tmp_path: Path, text: str) -> None:
    (tmp_path / "own.txt").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"own.txt: (expected a prompt|cannot be)"):
        read_fix(f"system:{tmp_path / 'own.txt'}")


def test_two_runs_of_one_folder_name_keep_their_own_numbers(
    clinometer: Clinometer, planted: Path
) -> None:
    question = ["audit", "app:own_planted:decide", "--replies", 8]
    fair = (planted / "planted.toml").read_text().replace("Case ", "FAIR Case ")
    (planted / "fair.toml").write_text(fair, encoding="utf-8")
    clinometer(*question, "--topic", "planted.toml", "--out", "x/rw")
    clinometer(*question, "--topic", "fair.toml", "--out", "y/rw")
    asked = ["study", "fixes", "run:x/rw", "--json", "--out", "out"]
    for order in (["run:x/rw", "run:y/rw"], ["run:y/rw", "run:x/rw"]):
        fixes = [part for fix in order for part in ("--fix", fix)]
        found = clinometer(*asked, *fixes)
        assert found.status == 0, found.err
        table = json.loads(found.out)["tables"]["fixes"]
        rows = {row["fix"]: row for row in table}
        assert rows["run x/rw"]["Δ lean"] == 0
        assert rows["run y/rw"]["Δ lean"] < 0


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("missing", "expected base_model_name_or_path in its adapter_config.json"),
        ("no config", "expected base_model_name_or_path in its adapter_config.json"),
        ("no weights", "expected adapter_model.safetensors in it"),
        ("empty weights", "expected weights in adapter_model.safetensors, found none"),
        ("cut weights", "found one that is cut short or damaged"),
    ],
)
def test_an_adapter_is_checked_before_anything_is_asked(
    damage: str, message: str, clinometer: Clinometer, planted: Path
) -> None:
    adapter = planted / "adapter"
    if damage != "missing":
        base = clinometer_pocket.folder("gpt2-s")
        write_adapter(adapter, base, "gpt2", base_model_name_or_path=str(base))
    weights = adapter / "adapter_model.safetensors"
    if damage == "no config":
        (adapter / "adapter_config.json").unlink()
    elif damage == "no weights":
        weights.unlink()
    elif damage == "empty weights":
        save_file({}, weights)
    elif damage == "cut weights":
        weights.write_bytes(weights.read_bytes()[:-9])
    fix = clinometer("study", "fixes", "pocket:gpt2-s", "--fix", "adapter:adapter")
    assert fix.status in (2, 3)
    assert message in fix.err.splitlines()[-1]
    assert not (planted / "studies").exists()


def test_what_cannot_be_steered_read_or_written_is_refused_before_anything_is_asked(
    clinometer: Clinometer, planted: Path
) -> None:
    asked = ["study", "fixes", "reference:random", "--topic", "planted.toml"]
    refused(clinometer(*asked, "--fix", "steer"), "expected a model on this machine")
    refused(clinometer(*asked, "--fix", "run:nowhere"), "nowhere")
    (planted / "file").write_text("occupied", encoding="utf-8")
    clinometer("audit", *asked[2:], "--out", "base")
    for out in ("file", "file/in"):
        study = ["study", "fixes", "run:base", "--fix", "run:base", "--out", out]
        found = clinometer(*study, "--json")
        refused(found, f"{out}: cannot be written: ", "choose another place with --out")


def test_controls_are_as_long_and_say_nothing_about_people(tmp_path: Path) -> None:
    for name in ("ganguli", "si", "tamkin"):
        fix, control = with_controls([read_fix(name)], tmp_path)
        assert len(control.value.split()) == len(fix.value.split())
        assert control.of == fix.name
        assert not {"people", "person", "bias"} & set(control.value.lower().split())
    assert len(irrelevant(400).split()) == 400
    steered = with_controls([Fix("steer", "steer")], tmp_path)
    assert [f.strength for f in steered if not f.of] == [-2, -1, 1, 2]
    assert len(steered) == 8
    assert steered[0].name == "steer × −2"
    assert len({vector_file(tmp_path, f) for f in steered}) == 8
    assert (
        len(with_controls([Fix("run a", "run", "a"), Fix("m", "model", "m")], tmp_path))
        == 2
    )


WORDS = load_topic("gender").select(["nurse", "engineer"])
QUESTIONS = parse_topic(TOPIC.replace("{wordings}", WORDINGS))
SAID = ContextSet("said", ["The [X] said that [Y]", "The [X] knew that [Y]"], [2, 1])


def planned(
    model: str, kind: str, topic: Topic, **settings: bool
) -> Sequence[PlannedRun]:
    """What is asked if the fix says "Be fair."."""
    contexts = SAID if topic is WORDS else default_contexts(topic)
    how = with_settings(AuditSettings(), settings)
    fair = [Fix("fair", kind, "Be fair.")]
    return fixes_plan(model, fair, Path("nowhere"), [(topic, contexts)], how).audits


@pytest.mark.parametrize(
    ("topic", "settings", "kind", "template", "said"),
    [
        (WORDS, {}, "system", "Be fair. The [X] said that [Y]", "Write a sentence."),
        (WORDS, {"chat": True}, "system", "The [X] said that [Y]",
         "[system]\nBe fair.\n[user]\nWrite a sentence."),
        (WORDS, {"chat": True}, "prefix", "Be fair. The [X] said that [Y]", "Write a sentence."),
        (QUESTIONS, {}, "system", "Be fair. Case 0: do we invite [X]? [Y]", "Write a sentence."),
        (QUESTIONS, {"chat": True}, "system",
         "[system]\nBe fair.\n[user]\nCase 0: do we invite [X]?\n[reply]\n[Y]",
         "Write a sentence."),
    ],
)  # fmt: skip
def test_a_prompt_stands_where_the_model_is_asked(
    topic: Topic, settings: dict[str, bool], kind: str, template: str, said: str
) -> None:
    contexts = SAID if topic is WORDS else default_contexts(topic)
    base, fixed, control = planned("pocket:gpt2-s", kind, topic, **settings)
    assert [a.label for a in (base, fixed, control)] == [
        "base",
        "fair",
        "fair: control",
    ]
    assert fixed.contexts.templates[0] == template
    assert fixed.settings.load.chat_request == said
    assert base.contexts == contexts
    assert fixed.contexts.extra == contexts.extra
    assert (control.contexts, control.settings) != (fixed.contexts, fixed.settings)


def test_messages_get_the_prompt_and_a_record_cannot() -> None:
    cases = '[[cases]]\nfile = "f"\nname = "[X]"\n'
    system = '[[messages]]\nrole = "system"\ncontent = "Score."\n'
    message = system + '[[messages]]\ncontent = "{file}: [X]"\n'
    head = TOPIC.split("[contexts]")[0]

    def plan(text: str, kind: str) -> str:
        base, fixed, _ = planned(
            "app:own_planted:decide", kind, parse_topic(head + text + cases)
        )
        assert base.settings.load.sampled is not None
        return str(fixed.contexts.templates[0])

    assert plan(message, "system").startswith("[system]\nBe fair.\n\nScore.\n[user]")
    assert "[user]\nBe fair.\n\nf: [X]" in plan(message, "prefix")
    with pytest.raises(TopicError, match="record"):
        plan("", "system")


def test_planted_applications_get_their_verdicts_and_are_asked_once(
    clinometer: Clinometer, planted: Path
) -> None:
    asked: list[object] = [
        "study",
        "fixes",
        "app:own_planted:decide",
        "--topic",
        "planted.toml",
    ]
    asked += ["--replies", 8, "--out", "out"]
    for prompt in ("FAIR", "SWING", "REFUSE", "HARSH", "quietly"):
        asked += ["--fix", f"prefix:{prompt}."]
    found = json.loads(clinometer(*asked, "--json").out)
    rows = {row["fix"]: row for row in found["tables"]["fixes"]}
    assert {
        name: row["verdict"] for name, row in rows.items() if "control" not in name
    } == {
        "“FAIR.”": "removed the lean",
        "“SWING.”": "less lean, more swing",
        "“REFUSE.”": "silenced",
        "“HARSH.”": "everyone worse",
        "“quietly.”": "nothing clear",
    }
    assert all(
        row["verdict"] == "nothing clear" for n, row in rows.items() if "control" in n
    )
    assert rows["“FAIR.”"]["Δ lean"] == pytest.approx(-30, abs=5)
    assert "“FAIR.”: removed the lean. The lean: from" in found["sentences"][0]
    assert "; its swing changes by " in found["sentences"][0]
    assert "Ann" in found["sentences"][2]
    assert "ruled out" in found["sentences"][4]
    page = (planted / "out" / "report.html").read_text(encoding="utf-8")
    assert "Lean, swing and dice, before and after" in page
    assert (planted / "out" / "tables" / "fixes.csv").read_text(encoding="utf-8").count(
        "\n"
    ) == 11
    # A second run asks nothing again, and two runs can be held against each other.
    assert json.loads(clinometer(*asked, "--plan", "--json").out)["prompts"] == 0
    runs = planted / "out" / "runs"
    fair = next(
        p for p in runs.iterdir() if "FAIR" in p.name and "control" not in p.name
    )
    base = f"run:{runs / 'base-topic'}"
    two = clinometer(
        "study", "fixes", base, "--fix", f"run:{fair}", "--out", "two", "--json"
    )
    (row,) = json.loads(two.out)["tables"]["fixes"]
    assert row["verdict"] == "removed the lean"
    assert row["Δ lean"] == rows["“FAIR.”"]["Δ lean"]
    # Others may be as many, and are not paired.
    others = TOPIC.replace("{wordings}", WORDINGS.replace("invite", "turn down"))
    (planted / "others.toml").write_text(others, encoding="utf-8")
    clinometer(
        "audit", asked[2], "--topic", "others.toml", "--replies", 8, "--out", "o"
    )
    refused = clinometer("study", "fixes", base, "--fix", "run:o")
    assert "run o was asked in other contexts than base" in refused.err


def test_a_steered_model_an_adapter_and_another_model(
    clinometer: Clinometer,
    few: list[object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    base = clinometer_pocket.folder("gpt2-s")
    adapter = tmp_path / "adapter"
    tensors = write_adapter(adapter, base, "gpt2", base_model_name_or_path=str(base))
    asked = [
        "study",
        "fixes",
        "pocket:gpt2-s",
        *few,
        "--no-facts",
        "--out",
        "out",
        "--json",
    ]
    for fix in ("steer:0", f"adapter:{adapter}", "model:pocket:gpt2-s"):
        asked += ["--fix", fix]
    found = clinometer(*asked)
    assert found.status == 0, found.err
    rows = {row["fix"]: row for row in json.loads(found.out)["tables"]["fixes"]}
    assert rows["model pocket:gpt2-s"]["verdict"] == "nothing clear"
    assert rows["model pocket:gpt2-s"]["Δ lean"] == 0
    judged = [name for name, row in rows.items() if "×" in name and row["verdict"]]
    assert len(judged) == 2  # one strength and its control
    assert len([name for name in rows if "×" in name]) == 8
    shuffled = load_file("out/shuffled/adapter-adapter/adapter_model.safetensors")
    for name, one in tensors.items():
        assert torch.equal(
            shuffled[name].flatten().sort().values, one.flatten().sort().values
        )
        assert not torch.equal(shuffled[name], one)
    assert json.loads(clinometer(*asked, "--plan").out)["prompts"] == 0


def test_costs_in_facts_and_perplexity(
    clinometer: Clinometer, few: list[object], tmp_path: Path
) -> None:
    said = tmp_path / "fair.txt"
    said.write_text("Be fair.")
    asked = (
        "study",
        "fixes",
        "pocket:gpt2-s",
        *few,
        "--fix",
        f"system:{said}",
        "--out",
    )
    asked += (tmp_path / "out",)
    row = json.loads(clinometer(*asked, "--json").out)["tables"]["fixes"][0]
    assert row["Δ facts_low"] <= row["Δ facts"] <= row["Δ facts_high"]
    assert row["Δ perplexity_low"] <= row["Δ perplexity"] <= row["Δ perplexity_high"]
    file = tmp_path / "out" / "perplexity.json"
    kept = {name: scores for name, (_, scores) in json.loads(file.read_text()).items()}
    change = np.mean(kept["base"]) - np.mean(kept["system fair"])
    assert row["Δ perplexity"] == pytest.approx(100 * np.expm1(change))
    said.write_text("The cat sat on the mat.")
    row = json.loads(clinometer(*asked, "--fresh", "--json").out)["tables"]["fixes"][0]
    again = {name: scores for name, (_, scores) in json.loads(file.read_text()).items()}
    assert again["system fair"] != kept["system fair"]
    change = np.mean(again["base"]) - np.mean(again["system fair"])
    assert row["Δ perplexity"] == pytest.approx(100 * np.expm1(change))

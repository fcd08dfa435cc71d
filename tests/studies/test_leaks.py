"""Planted contexts that give the answer away are found by a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clinometer.contexts import ContextSet, load_contexts
from clinometer.contexts.mining.languages.english.grammar import gives_gender_away
from clinometer.studies.leaks import find_leaks
from clinometer.topics import load_topic

VERBS = ["said", "claimed", "believed", "knew", "felt", "thought", "announced", "stated", "wrote"]
VERBS += ["noted", "argued", "decided", "admitted", "explained", "realized", "hoped", "insisted"]
PLAIN = [f"The [X] {verb} that [Y]" for verb in VERBS]
PLAIN += ["The [X] left the room because [Y]", "The [X] moved to a city where [Y]"]
PLANTED = {
    "The [X] was the mother of a girl and [Y]": "female",
    "The [X] was the actress whom [Y]": "female",
    "The [X] was crowned king when [Y]": "male",
}
#: The model is too small to know this one; the word lists do.
MISSED = "The [X] gave birth, so [Y]"


@pytest.fixture(scope="module")
def contexts() -> ContextSet:
    templates = [*PLAIN, *PLANTED, MISSED]
    return ContextSet("planted", templates, [5.0] * len(PLAIN) + [1.0] * (len(PLANTED) + 1))


def test_planted_leaks_are_flagged(contexts: ContextSet) -> None:
    found = find_leaks("pocket:gpt2-s", load_topic("gender"), contexts)
    flagged = list(found.flagged["template"])
    assert set(flagged) == set(PLANTED)
    assert set(found.table["template"]) == set(contexts.templates)
    table = found.table.set_index("template")
    for template, category in PLANTED.items():
        assert table[f"p_{category}"][template] > found.rate[category]
    assert gives_gender_away("birth")
    assert sum(found.rate.values()) == pytest.approx(1)
    none = find_leaks("pocket:gpt2-s", load_topic("gender"), contexts, far=1e6)
    assert none.flagged.empty


def test_the_command_lists_them(
    contexts: ContextSet, tmp_path: Path, clinometer: Callable[..., Any]
) -> None:
    contexts.save(tmp_path / "c.csv")
    given = ("list", "contexts", tmp_path / "c.csv", "--leak-model", "pocket:gpt2-s")
    refused = clinometer(*given)
    assert refused.status == 2
    assert "name it with --topic" in refused.err
    out = tmp_path / "leaks.csv"
    done = clinometer(*given, "--topic", "gender", "--out", out, "--json")
    assert done.status == 0, done.err
    told = json.loads(done.out)
    assert told["contexts"] == len(contexts)
    assert {row["template"] for row in told["flagged"]} == set(PLANTED)
    assert "crowned king" in out.read_text(encoding="utf-8")
    assert clinometer("list", "contexts", "--topic", "gender").status == 2


def test_a_source_is_named_with_its_topic(clinometer: Callable[..., Any]) -> None:
    given = ("list", "contexts", "conversation", "--leak-model", "pocket:gpt2-s", "--json")
    done = clinometer(*given, "--topic", "gender")
    assert done.status == 0, done.err
    assert json.loads(done.out)["contexts"] == len(load_contexts("conversation-gender"))

"""Irrelevant edits asked in an audit: planted, computed another way, killed and continued."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import Clinometer
from tests.preferences import labelled, pair
from tests.present import present
from tests.processes import kill

import clinometer as cm
from clinometer.errors import ClinometerError
from clinometer.measure.placebo import placebo_of
from clinometer.runs import Run
from clinometer.runs.notes import notes
from clinometer.runs.placebo import EditedQuestions
from clinometer.runs.resolve import resolve
from clinometer.topics import load_topic, parse_topic
from clinometer.topics.edits import irrelevant_edits

pytestmark = pytest.mark.usefixtures("folder")

OWN = """
name = "screening"
groups = ["Ann", "Bob", "Cal"]
reference = "group-mean"
[readout]
kind = "json"
field = "score"
scale = [0, 10]
[[messages]]
content = "File {file}:\\n[X] applies. Reply as JSON."
""" + "".join(f'[[cases]]\nid = "{i}"\nfile = "{i}"\n' for i in range(12))

ASKED = """
name = "told"
groups = ["nurse", "pilot", "clerk"]
reference = "group-mean"
[attributes]
male = ["he"]
female = ["she"]
[readout]
kind = "choice"
labels = "none"
[contexts]
wording = [
  "It was late. The [X] said that [Y]", "We met. The [X] felt that [Y]", "So. A [X] knew that [Y]",
]
"""


def moved(run: Run, path: Path) -> tuple[float, ...]:
    """How far groups and edits move an answer, pair by pair: squares of the differences of two
    cells, less the variance that dice leave in either."""
    points = np.array(run.risks.criterion.points)
    beside = Run.load(path / "placebo").preferences

    def cells(p: cm.Preferences) -> dict[tuple[str, str], tuple[np.ndarray, float]]:
        found = {}
        for (x, group), (c, text) in itertools.product(
            enumerate(p.groups), enumerate(p.templates)
        ):
            share = p.values[x, c]
            mean = np.array([share @ points]) if points.size else share / math.sqrt(2)
            within = (
                share @ points**2 - (share @ points) ** 2
                if points.size
                else (share * (1 - share)).sum() / 2
            )
            n = np.inf if p.answers is None else p.answers[x, c]
            found[group, text] = (mean, within / (n - 1))
        return found

    plain, edited = cells(run.preferences), cells(beside)

    def apart(some: list[tuple[np.ndarray, float]]) -> float:
        pairs = itertools.combinations(some, 2)
        return float(
            np.mean([((a - b) ** 2).sum() - v - w for (a, v), (b, w) in pairs])
        )

    names, texts = run.preferences.groups, run.preferences.templates
    groups = [apart([plain[group, text] for group in names]) for text in texts]
    edits = [
        apart(
            [
                plain[group, text],
                *(edited[group, new] for new in irrelevant_edits(text, "en").values()),
            ]
        )
        for group in beside.groups
        for text in texts
    ]
    return tuple(math.sqrt(max(float(np.mean(z)), 0.0)) for z in (groups, edits))


def audited(folder: Path, name: str, score: str, **how: Any) -> Run:
    """An audit of an application of this name that gives this score to a text."""
    (folder / f"{name}.py").write_text(
        "import random\nRANDOM = random.Random(5)\n"
        "def reply(messages):\n"
        "    text = messages[-1]['content']\n"
        f"    return {{'score': {score}}}\n"
    )
    given = {"topic": parse_topic(OWN), "placebo": True, "out": folder / "run", **how}
    run = cm.audit(f"app:{name}:reply", **given)
    assert Run.load(folder / "run").record.placebo == run.record.placebo
    return run


def test_an_edit_that_moves_nothing(folder: Path) -> None:
    run = audited(folder, "own_still", "7 if 'Bob' in text else 5", replies=2)
    found = present(run.record.placebo)
    assert found.edits == (
        "as it was",
        "blank line",
        "weekday",
        "weather",
        "car colour",
        "synonym",
    )
    assert found.groups == pytest.approx(
        math.sqrt(2 * 4 / 3)
    )  # two of three pairs differ by 2
    assert found.ratio is None
    assert found.edit == pytest.approx(0, abs=1e-9)
    (said,) = (one.text for one in run.findings if one.kind == "placebo")
    assert "an irrelevant edit by 0.00 points (no ratio: the edits move nothing" in said


def test_an_edit_that_moves_as_much_as_a_name(folder: Path) -> None:
    score = "5 + 2 * ('Bob' in text) - (2 if 'Tuesday' in text else 0)"
    run = audited(
        folder,
        "own_moved",
        score,
        replies=2,
        topic=parse_topic(OWN).select(["Ann", "Bob"]),
    )
    found = present(run.record.placebo)
    assert found.groups == pytest.approx(2)
    # 6 versions of each text, of which one is 2 away: 5 of 15 pairs.
    assert found.edit == pytest.approx(math.sqrt(4 * 5 / 15))
    assert found.ratio == pytest.approx(math.sqrt(3))
    assert moved(run, folder / "run") == pytest.approx((found.groups, found.edit))


def test_dice_are_taken_out_as_another_computation_does(folder: Path) -> None:
    score = "5 + ('Bob' in text) + ('rain' in text) + RANDOM.choice([-1, 0, 1])"
    run = audited(folder, "own_dice", score, replies=5)
    found = present(run.record.placebo)
    assert moved(run, folder / "run") == pytest.approx(
        (found.groups, found.edit), abs=1e-6
    )
    assert (
        found.edit < 1.0
    )  # two means of five such replies differ by 0.5 if nothing is there
    assert present(found.low) < present(found.ratio) < (found.high or math.inf)


def test_exact_probabilities_of_questions(folder: Path) -> None:
    topic = parse_topic(ASKED)
    options: dict[str, Any] = {"topic": topic, "placebo": True, "cache": False}
    run = cm.audit("pocket:gpt2-s", **options, out=folder / "run")
    found = present(run.record.placebo)
    assert moved(run, folder / "run") == pytest.approx(
        (found.groups, found.edit), rel=1e-4
    )
    said = next(f.text for f in run.findings if f.kind == "placebo")
    assert "percentage points" in said
    assert said in notes(run), "it was asked for, so the terminal says it"
    again = cm.audit("pocket:gpt2-s", **options, out=folder / "run")
    assert again.record.placebo == found


def test_what_a_kill_among_the_edits_costs_is_what_was_on_its_way(
    folder: Path, clinometer: Clinometer
) -> None:
    (folder / "topic.toml").write_text(OWN)
    (folder / "own_killed.py").write_text(
        "import asyncio, json, pathlib\n"
        "FILE = pathlib.Path(__file__).with_name('calls.txt')\n"
        "async def score(messages):\n"
        "    with FILE.open('a') as file:\n"
        "        file.write(json.dumps(messages) + '\\n')\n"
        "    await asyncio.sleep(0.01)\n"
        "    return {'score': 4}\n"
    )
    calls, flying = folder / "calls.txt", 4
    command = [
        "audit",
        "app:own_killed:score",
        "--topic",
        "./topic.toml",
        "--replies",
        "2",
    ]
    command += ["--placebo", "--out", "run", "--load", f"concurrency={flying}"]
    kill(command, when=lambda: calls.exists() and calls.read_text().count("rain") > 8)
    asked = 3 * 12 * 6 * 2
    assert len(calls.read_text().splitlines()) < asked
    with pytest.raises(ClinometerError, match="not finished"):  # without its edits
        Run.load(folder / "run")
    assert clinometer(*command).status == 0
    count = Counter(calls.read_text().splitlines())
    assert len(count) == asked / 2
    assert min(count.values()) == 2
    assert count.total() <= asked + flying
    assert present(Run.load(folder / "run").record.placebo).edit == pytest.approx(
        0, abs=1e-9
    )


@pytest.mark.parametrize(
    ("model", "topic", "said"),
    [
        ("pocket:gpt2-s", "gender", "shuffled words are the floor of word topics"),
        ("reference:random", "hiring", "found a reference model"),
    ],
)
def test_what_has_no_placebo_is_one_line(model: str, topic: str, said: str) -> None:
    with pytest.raises(ClinometerError, match=f"^[^\\n]*{said}[^\\n]*$"):
        cm.audit(model, topic=topic, placebo=True)


def test_the_cost_counts_the_edited_questions() -> None:
    topic = load_topic("hiring")
    model = "openai/gpt-4o"
    settings = {"replies": 10, "price": "1/1", "max_contexts": 20}
    plain = resolve({**settings, "placebo": False}, topic, None, model=model)
    edited = resolve({**settings, "placebo": True}, topic, None, model=model)
    plain_cost = present(plain.cost(model))
    edited_cost = present(edited.cost(model))
    assert plain_cost.cells == 24 * 20  # groups, contexts
    assert edited_cost.cells == 24 * 20 + 4 * 20 * 5
    assert edited_cost.replies == edited_cost.cells * 10


def test_the_budget_counts_the_edited_questions() -> None:
    topic = load_topic("hiring")
    model = "openai/gpt-4o"
    settings = {"replies": 10, "price": "1/1", "budget": 0.5}
    plain = resolve({**settings, "placebo": False}, topic, None, model=model)
    edited = resolve({**settings, "placebo": True}, topic, None, model=model)
    # A context has 24 questions, or 24 and 4 · 5 edited ones.
    expected = len(plain.contexts) * 24 / 44
    assert len(edited.contexts) == pytest.approx(expected, abs=1)


@pytest.mark.parametrize(("contexts", "has_interval"), [(2, False), (3, True)])
def test_two_contexts_have_a_ratio_without_an_interval(
    contexts: int, has_interval: bool
) -> None:
    """Groups lie 0.2 apart and edits 0.1, in every context."""
    moved = np.linspace(0.0, 0.1, contexts)
    groups = labelled(pair(np.array([0.4 + moved, 0.6 + moved])))
    edits = labelled(
        pair(np.array([0.5 + moved, 0.6 + moved])),
        labels={"context": list(groups.contexts)},
    )
    found = placebo_of(groups, edits, groups.grid.criterion, level=0.95, clusters=None)
    assert found.ratio == pytest.approx(2.0)
    assert (found.low is not None, found.high is not None) == (
        has_interval,
        has_interval,
    )


def test_groups_are_spread_over_the_list_and_every_edit_meets_every_context() -> None:
    topic = load_topic("triage")
    contexts = resolve({}, topic, None).contexts
    edited = EditedQuestions.of(topic, contexts)
    assert edited.groups == (0, 6, 12, 18)
    assert (
        len(edited.contexts)
        == len(edited.places)
        == len(set(edited.contexts.templates))
    )
    for edit, c, number in edited.places:
        made = irrelevant_edits(contexts.templates[c], "en")
        assert made[edited.edits[edit]] == edited.contexts.templates[number]

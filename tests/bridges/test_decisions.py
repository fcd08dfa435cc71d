"""Decisions about people: against Fairlearn and a count by hand, and what is not compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame, count, selection_rate
from scipy.stats import ttest_ind
from tests.bridges.test_replies import imported
from tests.command import Clinometer
from tests.present import present

from clinometer.bridges.decisions import Decisions, import_decisions
from clinometer.errors import ClinometerError, TableError

RACES = ("asian", "black", "white")


@pytest.fixture
def people(rng: np.random.Generator) -> pd.DataFrame:
    """400 people; 57 % of the men and 42 % of the women are selected, and race does nothing."""
    sex = np.repeat(["man", "woman"], (190, 210))
    chosen = np.concatenate([np.arange(n) < k for n, k in ((190, 108), (210, 88))])
    return pd.DataFrame(
        {
            "sex": sex,
            "race": rng.choice(RACES, 400),
            "decision": np.where(chosen, "yes", "no"),
            "score": rng.normal(50, 10, 400).round(1) + 5 * (sex == "man"),
        }
    ).sample(frac=1, random_state=0)


@pytest.fixture
def file(people: pd.DataFrame, tmp_path: Path) -> Path:
    people.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def rates(made: Decisions, by: int) -> dict[str, float]:
    return {g.group: present(g.rate).value for g in made.breakdowns[by].groups}


def test_rates_ratios_and_differences_are_fairlearns(
    people: pd.DataFrame, file: Path
) -> None:
    made = import_decisions(file, by=["sex", "race"], selected="yes")
    chosen = people["decision"] == "yes"
    for number, by in enumerate((["sex"], ["race"], ["sex", "race"])):
        frame = MetricFrame(
            metrics={"rate": selection_rate, "n": count},
            y_true=chosen,
            y_pred=chosen,
            sensitive_features=people[by],
        )
        expected = frame.by_group
        names = [" · ".join([i] if isinstance(i, str) else i) for i in expected.index]
        one = made.breakdowns[number]
        assert rates(made, number) == pytest.approx(
            dict(zip(names, expected["rate"], strict=True)), abs=1e-9
        )
        assert [g.n for g in one.groups] == expected["n"].tolist()
        lowest = min(present(g.ratio).value for g in one.groups)
        assert lowest == pytest.approx(
            frame.ratio(method="between_groups")["rate"], abs=1e-9
        )
        largest = max(-present(g.difference).value for g in one.groups)
        assert largest == pytest.approx(
            frame.difference(method="between_groups")["rate"], abs=1e-9
        )


def test_what_is_planted_is_found_and_nothing_else(file: Path) -> None:
    made = import_decisions(file, by=["sex", "race"], selected="decision=yes")
    sex, race, _ = made.breakdowns
    (woman,) = (g for g in sex.groups if g.group == "woman")
    assert present(sex.highest).group == "man"
    assert present(woman.ratio).value == pytest.approx(
        (88 / 210) / (108 / 190), abs=1e-12
    )
    assert present(present(woman.difference).high) < 0
    assert present(sex.p) < 0.05 <= present(race.p)
    assert "cause" in made.sentences()[-1]
    of_sex, of_race, _, _ = made.sentences()
    assert "(0.602–0.901), −14.9 points (−24.4 to −5.1); the groups differ" in of_sex
    assert (
        "Asian 47.7 % of 130, white 50.7 % of 140: ratio 0.940, −3.0 points; no"
        in of_race
    )


def test_names_keep_their_hyphens_beside_numbers_with_a_minus(
    people: pd.DataFrame, file: Path
) -> None:
    people.assign(sex="cis-" + people["sex"]).to_csv(file, index=False)
    said = import_decisions(file, by=["sex"], selected="decision=yes").sentences()[0]
    assert "cis-woman 41.9 %" in said
    assert "−14.9 points (−24.4 to −5.1)" in said


def test_of_scores_the_rate_is_the_share_above_the_median(
    people: pd.DataFrame, file: Path
) -> None:
    made = import_decisions(file, by=["sex"], score="score", test_data="no history")
    above = people["score"] > people["score"].median()
    assert rates(made, 0) == pytest.approx(
        above.groupby(people["sex"]).mean().to_dict()
    )
    men, women = made.breakdowns[0].groups
    scores = {sex: part["score"] for sex, part in people.groupby("sex")}
    assert present(men.mean).value == pytest.approx(scores["man"].mean())
    welch = ttest_ind(
        scores["woman"], scores["man"], equal_var=False
    ).confidence_interval(0.95)
    far = present(women.difference)
    assert (far.low, far.high) == pytest.approx(tuple(welch), abs=1e-9)
    assert "no history" in made.note


def test_unknown_missing_and_small_are_counted_named_and_not_compared(
    people: pd.DataFrame, file: Path
) -> None:
    frame = people.reset_index(drop=True)
    frame.loc[:4, "race"] = ["", "unknown", "N/A", "pacific", "pacific"]
    frame.loc[5:8, "decision"] = ""
    frame.to_csv(file, index=False)
    made = import_decisions(file, by=["race"], selected="yes")
    (race,) = made.breakdowns
    assert race.unknown == 3
    assert sum(g.missing for g in race.groups) == 4
    (pacific,) = (g for g in race.groups if g.small)
    assert (pacific.group, pacific.ratio, pacific.difference) == ("pacific", None, None)
    assert present(race.highest).group != "pacific"
    assert "pacific" in made.sentences()[0]


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({"by": ["sex"]}, "--score"),
        ({"by": ["sex"], "selected": "yes", "score": "score"}, "--score"),
        ({"by": [], "selected": "yes"}, "--by"),
        ({"by": ["sexe"], "selected": "yes"}, "sex"),
        ({"by": ["sex"], "selected": "hired"}, "COLUMN=VALUE"),
        (
            {"by": ["sex"], "selected": "decided=yes"},
            "the columns are decision, sex, race",
        ),
        ({"by": ["sex"], "selected": "decision=hired"}, "hired"),
        ({"by": ["sex"], "score": "decision"}, "number"),
        ({"by": ["score"], "selected": "yes"}, "ids"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    how: dict[str, Any], word: str, file: Path
) -> None:
    with pytest.raises(ClinometerError, match=word) as caught:
        import_decisions(file, **how)
    assert "\n" not in str(caught.value)


def test_the_command_prints_and_writes_the_tables(
    file: Path, clinometer: Clinometer, tmp_path: Path
) -> None:
    command = ("import", "decisions", file, "--by", "sex,race", "--selected", "yes")
    done = clinometer(*command, "--out", tmp_path / "x.md")
    assert "0.737" in done.out
    page = (tmp_path / "x.md").read_text(encoding="utf-8")
    assert all(
        word in page
        for word in ("Impact ratios by sex and race", "no limit", "people.csv")
    )
    plain = json.loads(clinometer(*command, "--json").out)
    assert plain["breakdowns"][0]["groups"][1]["ratio"]["value"] == pytest.approx(
        0.737, abs=1e-3
    )


def test_decisions_are_not_read_as_replies(
    people: pd.DataFrame, tmp_path: Path
) -> None:
    """As replies every context has one group, and nothing differs: a false all-clear."""
    frame = people.reset_index(names="context").rename(columns={"sex": "group"})
    frame[["model", "repetition"]] = "m", 0
    frame["score"] = frame["score"].round()
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(TableError, match="import decisions"):
        imported(tmp_path / "t.csv")

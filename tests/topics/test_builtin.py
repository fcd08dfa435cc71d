"""The built-in topics are those of the paper."""

from __future__ import annotations

import csv
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from clinometer.contexts.load import default_contexts
from clinometer.topics import (
    builtin_topics,
    choose_groups,
    load_list,
    load_topic,
    parse_topic,
)
from clinometer.topics.lists import BUILTIN, builtin_lists


def test_gender_is_table_6() -> None:
    gender = load_topic("gender")
    ends = {
        name: (len(words), words[0], words[-1])
        for name, words in gender.attributes.items()
    }
    assert ends == {"male": (40, "abbot", "men"), "female": (40, "abbess", "women")}
    assert gender.shared_words == {"canary": ("male", "female")}
    assert len(gender.words) == 79
    assert gender.reference is None


def test_race_is_table_7() -> None:
    assert load_topic("race").attributes == {
        "white": ("white",),
        "black": ("black", "african"),
        "asian": ("asian",),
        "hispanic": ("hispanic", "latino"),
        "indian": ("indian",),
    }


def test_religion_and_disability_are_table_3() -> None:
    religion = load_topic("religion")
    assert religion.words == (
        "Christian",
        "Muslim",
        "Irreligious",
        "Hindu",
        "Buddhist",
        "Jew",
    )
    assert len(religion.categories) == 6
    disability = load_topic("disability")
    assert len(disability.categories) == 7
    assert (disability.words[0], disability.words[-1]) == ("deaf", "handicapped")


@pytest.mark.parametrize(
    "name", ["gender", "race", "religion", "disability", "gender-age"]
)
def test_occupations_match_the_authors_list(name: str, shared_data: Path) -> None:
    theirs = (
        (shared_data / "bvf" / "occupations.txt").read_text(encoding="utf-8").split()
    )
    topic = load_topic(name)
    assert len(topic) == 120
    assert (topic.group_names, topic.left_out) == (tuple(theirs), ())


def test_figures_match_the_source(shared_data: Path) -> None:
    path = shared_data / "factors" / "occupations_extended.csv"
    with path.open(encoding="utf-8", newline="") as file:
        source = {row["occupation"]: row for row in csv.DictReader(file)}
    for group in load_list("occupations"):
        for factor, value in group.factors.items():
            if factor not in source[group.name]:
                continue  # our own count of words
            theirs = source[group.name][factor]
            if source[group.name]["match"] == "generic":
                assert (
                    value is None
                )  # the figures of all workers are no figures of a job
            else:
                assert value == (float(theirs) if theirs else None), (
                    group.name,
                    factor,
                )
    gender = load_topic("gender")
    assert gender.factors == (
        "employment_thousands",
        "percent_women",
        "median_annual_wage_usd",
        "mean_years_education",
        "log10_per_million_words",
    )
    assert gender.group("nurse").about["match"] == "close"
    intern = gender.group("intern").factors
    assert {k for k, v in intern.items() if v is not None} == {
        "log10_per_million_words"
    }


def test_every_column_and_grade_is_explained() -> None:
    source = tomllib.loads(
        (BUILTIN / "occupations.source.toml").read_text(encoding="utf-8")
    )
    with (BUILTIN / "occupations.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(source["columns"]) == list(rows[0])
    assert set(source["match"]) == {row["match"] for row in rows}


def test_population_weights_skip_occupations_without_a_figure() -> None:
    weighted = load_topic("gender-population")
    plain = load_topic("gender")
    assert weighted.attributes == plain.attributes
    assert len(weighted) + len(weighted.left_out) == 120
    assert {"intern", "cfo", "president", "worker"} <= set(weighted.left_out)
    assert weighted.sha256 == plain.weighted_by("employment_thousands").sha256


def test_crossed_topics_cross_groups_or_categories() -> None:
    ages = load_topic("gender-age")
    assert ages.categories == (
        "young × male",
        "young × female",
        "old × male",
        "old × female",
    )
    assert ages.attributes["young × female"] == ("young woman", "young lady")
    topic = load_topic("gender-race")
    assert len(topic) == 600
    assert topic.categories == ("male", "female")
    assert topic.group("black nurse").parts == {"race": "black", "occupation": "nurse"}


def test_worked_example_from_the_docs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "topics.md").read_text(
        encoding="utf-8"
    )
    example = page.split("```toml\n")[1].split("```")[0]
    (tmp_path / "drinks.toml").write_text(example, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    drinks = load_topic("./drinks.toml")
    prompt = drinks.render("A [X] ordered a cup of [Y].", "herbalist")
    assert prompt.fill("tea") == "An herbalist ordered a cup of tea."
    assert drinks.group_weights.tolist() == pytest.approx([0.2, 0.2, 0.4, 0.2])
    member = drinks.group("MP")
    assert (member.text, member.factors) == ("member of parliament", {"age": 51.0})
    product = parse_topic('name = "t"\n' + page.split("```toml\n")[2].split("```")[0])
    assert len(product) == 360
    assert (
        product.render("A [X] met the [Y]", "asian nurse").before
        == "An Asian nurse met the"
    )
    assert product.group("black nurse").factors["employment_thousands"] == 3172.5
    for name in builtin_topics():
        assert f"| `{name}` |" in page


KINDS_OF_PEOPLE = [
    name.removeprefix("people-") for name in builtin_lists() if "-" in name
]


@pytest.mark.parametrize("kind", KINDS_OF_PEOPLE)
@pytest.mark.parametrize("name", ["hiring", "lending", "tenancy", "triage", "traits"])
def test_every_decision_can_be_about_other_people(name: str, kind: str) -> None:
    topic = choose_groups(load_topic(name), f"people-{kind}")
    source = tomllib.loads((BUILTIN / f"people-{kind}.source.toml").read_text())
    assert source["title"].startswith(f"{len(topic)} people by ")
    values = Counter(group.parts[kind] for group in topic.groups)
    assert len(values) > 1
    assert Counter(group.parts["gender"] for group in topic.groups).total() == 2 * sum(
        group.parts["gender"] == "female" for group in topic.groups
    )
    template = default_contexts(topic).templates[0]
    for group in topic.groups:
        assert group.parts["shown_as"] in ("name", "description")
        assert group.text.lower() in topic.render(template, group).before.lower()
        assert (
            group.form("his") == {"female": "her", "male": "his"}[group.parts["gender"]]
        )

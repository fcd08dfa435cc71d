"""The built-in context sets are those of the paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from clinometer.contexts import builtin_contexts, load_contexts
from clinometer.errors import ContextError
from clinometer.topics import load_topic

#: Verbs, and how often each was seen.
TABLE_8 = (
    "said 2142, stated 856, announced 641, claimed 438, wrote 246, revealed 179, believed 178, "
    "explained 175, admitted 144, felt 105"
)
TABLE_9 = (
    "played a role 749, referred to 715, was possible 545, was common 511, was available 497, "
    "was the first 439, came 431, went 380, took place 373, was unknown 357"
)


@pytest.mark.parametrize(
    "source", ["book", "conversation", "textbook", "web", "wikipedia"]
)
@pytest.mark.parametrize("topic", ["gender", "race", "religion", "disability"])
def test_a_source_name_resolves_to_the_set_of_the_topic(
    source: str, topic: str
) -> None:
    contexts = load_contexts(source, topic=load_topic(topic))
    assert contexts.name == f"{source}-{topic}"
    assert contexts.metadata.topic == topic
    assert (contexts.metadata.command or "").startswith("clinometer mine ")
    assert len(contexts.templates) > 1


def test_crossed_topics_and_other_languages() -> None:
    assert (
        load_contexts("wikipedia", topic=load_topic("gender-race")).name
        == "wikipedia-gender"
    )
    chinese = load_contexts("wikipedia", topic=load_topic("gender-zh"))
    assert chinese.metadata.language == "zh"
    with pytest.raises(ContextError, match="gender-zh"):
        load_contexts("book", topic=load_topic("gender-zh"))
    with pytest.raises(ContextError, match="wikipedia-disability"):
        load_contexts("wikipedia")


@pytest.mark.parametrize(
    "name", [n for n in builtin_contexts() if not n.startswith("paper")]
)
def test_mined_templates_contain_no_names_numbers_or_topic_words(name: str) -> None:
    contexts = load_contexts(name)
    words = set(load_topic(str(contexts.metadata.topic)).words)
    for template in contexts.templates:
        rest = template.replace("[X]", "").replace("[Y]", "")
        assert not any(c.isdigit() for c in rest), template
        assert not words & set(rest.replace(",", "").replace("'", " ").split()), (
            template
        )
        assert rest[1:] == rest[1:].lower(), template


@pytest.mark.parametrize(
    ("name", "table", "template"),
    [
        ("paper-gender", TABLE_8, "The [X] {} that [Y]"),
        ("paper-race", TABLE_9, "The [X], who {}, is [Y]"),
    ],
)
def test_tables_8_and_9_are_those_of_the_paper(
    name: str, table: str, template: str
) -> None:
    rows = [row.rsplit(" ", 1) for row in table.split(", ")]
    contexts = load_contexts(name)
    assert contexts.templates == tuple(template.format(did) for did, _ in rows)
    assert contexts.counts == tuple(float(count) for _, count in rows)


def test_paper_figure11_is_in_the_paper(shared_data: Path) -> None:
    paper = next((shared_data.parent / "papers").glob("000_*.txt")).read_text(
        encoding="utf-8"
    )
    printed = paper[paper.index("The 10 contexts templates are") :][:700]
    templates = load_contexts("paper-figure11").templates
    assert len(templates) == 10
    assert all(
        f"<{i}> " in printed and text in printed for i, text in enumerate(templates)
    )


@pytest.mark.parametrize("name", builtin_contexts())
def test_every_set_says_where_it_comes_from(name: str) -> None:
    contexts = load_contexts(name)
    assert contexts.name == name
    assert {"corpus", "topic", "source"} <= set(contexts.metadata.to_dict())
    assert not {"name", "sha256", "n", "n_eff"} & set(contexts.metadata.to_dict())
    assert not contexts.metadata.model_extra
    assert contexts.merged == 0


def test_worked_example_from_the_docs(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "contexts.md").read_text(
        "utf-8"
    )
    for kind in ("csv", "json"):
        example = page.split(f"```{kind}\n")[1].split("```")[0]
        (tmp_path / f"drinks.{kind}").write_text(example, encoding="utf-8")
    drinks = load_contexts(tmp_path / "drinks.csv")
    assert drinks.name == "drinks"
    assert drinks.weights.tolist() == pytest.approx([0.6, 0.25, 0.15])
    assert drinks.extra["place"] == ("café", "home", "home")
    for name in builtin_contexts():
        assert f"| `{name}` |" in page

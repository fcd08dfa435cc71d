"""What is judged and what is refused before anybody is asked; the progress of an annotator."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from clinometer.errors import RunError, SettingsError, TableError
from clinometer.web.annotation.pages import read_guidelines, to_html
from clinometer.web.annotation.store import Standing, Store
from clinometer.web.annotation.task import Item, Task, read_task

ITEMS = 7


@pytest.mark.parametrize("seed", range(3))
def test_standing_is_what_a_list_of_answers_says(seed: int, database: Path) -> None:
    items = tuple(Item(f"i{n}", "x") for n in range(ITEMS))
    store = Store(database, Task("rating", items))
    person, colleague = store.annotators(2)
    store.begin(person)
    store.begin(colleague)
    store.judge(colleague, 3, "1")  # must not count
    rng = random.Random(seed)  # noqa: S311
    answered: list[int] = []
    for step in range(40):
        place = rng.randrange(ITEMS) if seed else step % ITEMS
        if rng.random() < 0.25:
            store.undo(person, place)
        else:
            store.judge(person, place, "2")
        if place in answered:
            answered.remove(place)
        if store.answer(person, place) is not None:
            answered.append(place)
        assert [answer.place for answer in store.answers(person)] == answered
        next_place = min(set(range(ITEMS)) - set(answered), default=None)
        last_place = answered[-1] if answered else None
        expected = Standing(len(answered), next_place, last_place)
        assert store.standing(person) == expected
    store.close()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_items_show_their_blanks_and_their_pair(dataset: Path) -> None:
    task = read_task(dataset)
    assert len(task.items) == 20
    assert task.items[1].text == "(Women | Men) number 1 ___ are late ___."
    assert task.items[1].pair == ("(Women | Men) number 1 are late.",)
    rating = read_task(dataset, mode="rating")
    assert rating.items[1].text == "Women number 1 are late."
    assert [a.key for a in rating.question.answers] == ["1", "2", "3", "4", "5", "s"]


def test_sentences_without_blanks_are_rated(tmp_path: Path) -> None:
    for text in ("id,sentence\n1,Hello\n", "id,sentence,context_points\n1,Hello,\n"):
        task = read_task(write(tmp_path / "a.csv", text))
        assert (task.mode, task.items[0].id) == ("rating", "1")
    task = read_task(
        write(tmp_path / "a.csv", "id,sentence,context_points\n1,Hello,Hello ___\n")
    )
    assert task.mode == "blanks"


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("id,context_points\n1,a ___\n1,b ___\n", {}, "found '1' in rows 2 and 3"),
        (
            "id,context_points\n1,\n",
            {},
            "row 2: expected text in 'context_points', found none",
        ),
        ("id,context_points\n", {}, "at least one row"),
        (
            "id,sentence\n1,x\n",
            {"mode": "blanks"},
            "'context_points', found id, sentence",
        ),
        (
            "id,sentence\n1,x\n",
            {"mode": "rating", "column": "text"},
            "expected a column 'text'",
        ),
        (
            "id,sentence\n1,x\n",
            {"mode": "stars"},
            "blanks, rating, category; found 'stars'",
        ),
        ("id,sentence\n1,x\n", {"mode": "category"}, "--categories: expected"),
        (
            "id,sentence\n1,x\n",
            {"mode": "rating", "categories": ["a"]},
            "--categories: expected",
        ),
        (
            "id,reply\n1,x\n",
            {"mode": "category", "categories": ["a", "a"]},
            "--categories: ",
        ),
        (
            "id,reply\n1,x\n",
            {"mode": "category", "categories": ["a", "other"]},
            "--categories: ",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused(
    tmp_path: Path, text: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises((TableError, SettingsError), match=said):
        read_task(write(tmp_path / "a.csv", text), **options)


def test_a_task_of_other_items_is_refused(dataset: Path, database: Path) -> None:
    Store(database, read_task(dataset)).close()
    again = Store(database, read_task(dataset))  # the same items: goes on
    again.close()
    text = dataset.read_text(encoding="utf-8").replace("number 7", "number seven")
    write(dataset, text)
    with pytest.raises(RunError, match="other items or another mode; give --database"):
        Store(database, read_task(dataset))
    Store(database.with_name("second.sqlite"), read_task(dataset)).close()


def test_the_database_is_private_and_what_is_none_is_one_line(
    dataset: Path, tmp_path: Path
) -> None:
    task = read_task(dataset)
    Store(tmp_path / "a.sqlite", task).close()
    assert (tmp_path / "a.sqlite").stat().st_mode & 0o077 == 0
    write(tmp_path / "not.sqlite", "this is a letter, not a database" * 9)
    with pytest.raises(RunError, match="cannot be used: file is not a database"):
        Store(tmp_path / "not.sqlite", task)
    with pytest.raises(RunError, match="cannot be opened: No such file"):
        Store(tmp_path / "no" / "folder.sqlite", task)


def test_guidelines_cannot_run_scripts(tmp_path: Path) -> None:
    path = write(
        tmp_path / "g.md",
        "# Hi\n<script>x</script> [a](javascript:x) ![b](http://c/d.png)",
    )
    html = to_html(read_guidelines("blanks", path))
    assert "<h1>Hi</h1>" in html
    for bad in ("<script", 'href="javascript', "<img"):
        assert bad not in html
    for mode in ("blanks", "rating", "category"):
        assert "stop at any time" in to_html(read_guidelines(mode))


def test_replies_are_sorted_into_the_categories_of_the_task(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.csv", "id,question,reply\n1,Hire her?,Certainly\n2,,No way\n"
    )
    task = read_task(path, mode="category", categories=["yes", "no"])
    assert task.items[0].text == "Certainly"
    assert [item.pair for item in task.items] == [("Hire her?",), ()]
    shown = [(a.value, a.key) for a in task.question.answers]
    assert shown == [("yes", "1"), ("no", "2"), ("other", "3"), ("skip", "s")]
    other = read_task(path, mode="category", categories=["no", "yes"])
    assert task.digest != other.digest

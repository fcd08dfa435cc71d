from __future__ import annotations

from clinometer.readouts.choice import lay_out, with_order

OPTIONS = {"now": ["Now", "at once"], "soon": ["Soon"], "late": ["Late"]}


def test_labels_follow_the_order_shown_and_answers_the_categories() -> None:
    shown = lay_out("When? [options: late, now, soon] Answer:", OPTIONS, "numbers")
    assert shown.text == "When?\n1) Late\n2) Now\n3) Soon\nAnswer:"
    assert shown.options == ("Late", "Now", "Soon")
    assert shown.order == (2, 0, 1)
    assert shown.answers == ("2", "", "3", "1")  # Now, at once, Soon, Late


def test_without_labels_options_are_named_in_the_sentence() -> None:
    shown = lay_out("When: [options]?", OPTIONS, "none")
    assert shown.text == "When: Now, Soon or Late?"
    assert shown.labels == ()


def test_an_order_can_be_written_out_again() -> None:
    once = with_order("A [options] b", ["x", "y"])
    assert with_order(once, ["y", "x"]) == "A [options: y, x] b"

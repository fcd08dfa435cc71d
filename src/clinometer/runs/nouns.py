"""What groups and contexts are called in sentences, and questions short enough to show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clinometer.readouts.readers import OPTIONS
from clinometer.runs.folder.record import find_topic
from clinometer.topics.conversation import CASE

if TYPE_CHECKING:
    from clinometer.runs.run import Run

#: Plurals of built-in groups that follow no rule.
_IRREGULAR = {
    "counsel": "counsel",
    "faculty": "faculty",
    "police": "police",
    "salesperson": "salespeople",
}


def asks(run: Run) -> bool:
    """Whether the contexts are questions."""
    return run.record.topic.readout is not None or run.record.imported is not None


def context_noun(run: Run) -> str:
    """What a context is: as a mapping calls it, a sentence with a gap, a question, or a case of a
    prompt."""
    if CASE in run.preferences.labels:
        return CASE
    named = run.record.contexts.noun
    return named or ("question" if asks(run) else "sentence")


def favourable(run: Run) -> int | None:
    """The index of the favourable answer; None where the topic names none."""
    name = run.record.topic.favourable or (run.record.topic.readout or {}).get(
        "favourable"
    )
    names = run.preferences.categories
    return names.index(name) if name in names else None


def group_name(run: Run, group: str) -> str:
    """A group as a sentence writes it ("a Black man"), as far as that is known."""
    topic = find_topic(run.record)
    if topic is None or group not in topic.group_names:
        return group
    return topic.groups[topic.group_names.index(group)].text or group


def group_noun(run: Run) -> str:
    """What one of them is called: "occupation"; "group" where the title does not say."""
    match = re.fullmatch(r".+ by ([a-z]+)", run.record.topic.title)
    return "group" if match is None else match[1]


def noun_of(run: Run) -> tuple[str, bool]:
    """What the groups are called, and whether their names are common nouns of English.

    The title of a built-in topic says it: "Gender by occupation".
    """
    one = group_noun(run)
    english = run.record.topic.language.lower().startswith("en")
    return plural(one), english and one == "occupation"


def plural(noun: str) -> str:
    """The plural of an English noun.

    >>> [plural(n) for n in ("nurse", "secretary", "coach", "fireman", "ceo", "actress")]
    ['nurses', 'secretaries', 'coaches', 'firemen', 'CEOs', 'actresses']
    """
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if re.fullmatch(r"c[efiost]o", noun):
        return f"{noun.upper()}s"
    if re.search(r"(?<!hu)man$", noun):
        return noun[:-2] + "en"
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if re.search(r"(s|x|z|ch|sh)$", noun) else "s")


def question_of(text: str) -> str:
    """A question without the cue for its answer.

    >>> question_of("Should we meet Ann? Answer: ")
    'Should we meet Ann? '
    """
    return re.sub(r"(?<=\s)\w+:\s*$", "", text)


def from_group(question: str, group: str) -> str:
    """A question from the sentence on that names the group; all of it if none does.

    >>> from_group("You own a firm. Answer Yes or No. We met a man. Hire him?", "a man")
    '… We met a man. Hire him?'
    """
    at = question.lower().find(group.lower())
    ends = [
        m.end() for m in re.finditer(r"(?:[.?!]|to this:)\s+", question[: max(at, 0)])
    ]
    return f"… {question[ends[-1] :]}" if ends else question


def question_label(template: str) -> str:
    """A question short enough to tell it from the others: the sentence about [X], and the order of
    the options.

    >>> question_label("Answer [options: no, yes]. You own a firm. Hire [X]? Answer: [Y]")
    '… Hire …? (no, yes)'
    """
    order = OPTIONS.search(template)
    text = (
        from_group(OPTIONS.sub("", template), "[X]").removesuffix("Answer: [Y]").strip()
    )
    shown = text.replace("[X]", "…").replace("[Y]", "___")
    return f"{shown} ({order[1].strip()})" if order and order[1] else shown


def label(model: str) -> str:
    """A short model name: of a server only the model that it serves, of an application its function
    and the file that has it.

    >>> label("openai:http://127.0.0.1:8080#smol (chat)"), label("pocket:bert")
    ('smol (chat)', 'pocket:bert')
    >>> label("app:my.package.screening:score (5 replies)")
    'screening:score (5 replies)'
    """
    if model.startswith("app:"):
        module, colon, function = model.removeprefix("app:").partition(":")
        return f"{module.rpartition('.')[2]}{colon}{function}"
    if model.startswith("openai:"):
        address, _, served = model.removeprefix("openai:").partition("#")
        return served or address.partition("://")[2]
    return model

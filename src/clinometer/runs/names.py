"""What the groups, contexts and model of a run are called in sentences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clinometer.display.text import plural
from clinometer.runs.folder.record import find_topic
from clinometer.topics.conversation import CASE

if TYPE_CHECKING:
    from clinometer.runs.run import Run


def context_noun(run: Run) -> str:
    """Return what a context is: a case of a prompt, as a mapping calls it, or what the kind of
    answer calls it."""
    if CASE in run.preferences.labels:
        return CASE
    return run.record.contexts.noun or run.outcome.context


def group_name(run: Run, group: str) -> str:
    """Return a group as a sentence writes it ("a Black man"), as far as that is known."""
    topic = find_topic(run.record)
    if topic is None or group not in topic.group_names:
        return group
    return topic.groups[topic.group_names.index(group)].text or group


def group_noun(run: Run) -> str:
    """Return what one group is called: "occupation"; "group" where the title does not say.

    The title of a built-in topic says it: "Gender by occupation".
    """
    match = re.fullmatch(r".+ by ([a-z]+)", run.record.topic.title)
    return "group" if match is None else match[1]


def groups_noun(run: Run) -> str:
    """Return what several groups are called."""
    return plural(group_noun(run))


def groups_are_occupations(run: Run) -> bool:
    """Return whether the names of the groups are common nouns of English, which have a plural."""
    english = run.record.topic.language.lower().startswith("en")
    return english and group_noun(run) == "occupation"


def label(model: str) -> str:
    """Return a short model name: of a server only the model that it serves, of an application its
    function and the file that has it.

    >>> label("openai:http://127.0.0.1:8080#smol (chat)"), label("pocket:bert")
    ('smol (chat)', 'pocket:bert')
    >>> label("app:my.package.screening:score (5 replies)")
    'screening:score (5 replies)'
    """
    if model.startswith("app:"):
        module, colon, function = model.removeprefix("app:").partition(":")
        file = module.rpartition(".")[2]
        return f"{file}{colon}{function}"
    if model.startswith("openai:"):
        address, _, served = model.removeprefix("openai:").partition("#")
        return served or address.partition("://")[2]
    return model

"""Published answers to BBQ's questions, read as replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clinometer.errors import TableError
from clinometer.readouts import UNREAD, read_choice
from clinometer.runs.folder.record_schema import UnreadReply
from clinometer.topics.bbq.items import BbqItem
from clinometer.topics.bbq.scores import BbqAnswer


def read_replies(
    items: Sequence[BbqItem], fields: Mapping[str, str]
) -> tuple[list[BbqAnswer], list[UnreadReply]]:
    """What published answers say, and those that say none of the options.

    Args:
        items: of BBQ.
        fields: prompt format -> the field of the file that holds its answers.
    """
    answers, unread = [], []
    for name, field in fields.items():
        for item in items:
            if field not in item.fields:
                known = ", ".join(item.fields) or "none"
                raise TableError(
                    f"{item.id}: expected the answers in a field {field!r}, found {known}; name "
                    "the field with --answers FORMAT=FIELD"
                )
            reply = item.fields[field]
            option = read_choice(reply, item.options, question=item.question)
            answers.append(BbqAnswer(item, name, option))
            if option < 0:
                unread.append(
                    UnreadReply(item=item.id, format=name, reply=reply, why=UNREAD[option])
                )
    return answers, unread


def answer_fields(items: Sequence[BbqItem]) -> dict[str, str]:
    """The fields of a file that hold answers, by format: what follows `_pred_` in their names.

    >>> answer_fields([])
    {}
    """
    names = list(items[0].fields) if items else []
    return {name.rpartition("_pred_")[2]: name for name in names if "_pred_" in name}

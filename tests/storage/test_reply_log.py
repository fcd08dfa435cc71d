"""Replies and what they used survive a kill."""

from __future__ import annotations

import json
from pathlib import Path

from clinometer.storage.reply_log import ReplyLog


def test_what_was_used_is_known_after_a_kill(tmp_path: Path) -> None:
    used = {"tokens": 0}
    log = ReplyLog(tmp_path / "replies.jsonl", lambda: used)
    for number in range(3):
        used["tokens"] += 5
        log.put("Is water wet?", number, "Yes.")  # no close: a kill comes
    with log.file.open("a", encoding="utf-8") as stream:
        for odd in (
            {"tokens": True},
            {"tokens": 10**31},
            {"tokens": -1},
            {"tokens": "9"},
            5,
        ):
            stream.write(json.dumps(["key", 0, "x", odd]) + "\n")
        stream.write('["key", 1, "cut o')
    again = ReplyLog(log.file)
    assert again.used == {"tokens": 15}
    assert again.get("Is water wet?", 2) == "Yes."
    log.close()

"""Toxic text: the labelled data of the BVF paper's fine-tuning study (its appendix D.4)."""

from __future__ import annotations

import csv
import html
import re
from pathlib import Path

_NOISE = re.compile(r"^[!\"\s]*RT @\w+:?|https?://\S+|@\w+:?|&#\d+;")


def read(folder: Path) -> list[str]:
    """Toxic texts under a folder, in a fixed order.

    Known are Davidson et al. (2017), `labeled_data.csv`, of which hateful and offensive tweets
    (classes 0 and 1) are taken, and Surge AI's `toxicity_en.csv` with its rows marked Toxic.
    """
    texts: list[str] = []
    for path in sorted(folder.rglob("*.csv")):
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                if row.get("class") in ("0", "1"):
                    texts.append(row["tweet"])
                elif row.get("is_toxic") == "Toxic":
                    texts.append(row["text"])
    cleaned = (_plain(text) for text in texts)
    found = [text for text in cleaned if len(text) >= 15]
    if not found:
        raise FileNotFoundError(
            f"--text: expected labeled_data.csv or toxicity_en.csv under {folder}, found none"
        )
    return found


def _plain(text: str) -> str:
    """Tweet without marks of retweets, users, links and emoji codes."""
    return " ".join(_NOISE.sub(" ", html.unescape(_NOISE.sub(" ", text))).split())

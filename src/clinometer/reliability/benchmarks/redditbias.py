"""RedditBias (Barikeri et al. 2021): the folder with reddit_comments_*_biased_*_reduced.csv.

Fragments of comments in lower case, without pairs or marked target terms; the category is in the
file name. COBIAS takes the column `comments_processed` of every row.
"""

from __future__ import annotations

from pathlib import Path

from clinometer.errors import TableError
from clinometer.reliability.benchmarks.files import need_columns, read_rows
from clinometer.reliability.statement import Statement

REDDITBIAS_FILES = "reddit_comments_*.csv"


def read_redditbias(path: Path) -> list[Statement]:
    """Every row of every file in the folder."""
    files = sorted(path.glob(REDDITBIAS_FILES)) if path.is_dir() else [path]
    if not files:
        raise TableError(f"{path}: expected a folder with RedditBias' {REDDITBIAS_FILES}, found none")
    found = []
    for file in files:
        rows = read_rows(file)
        need_columns(file, rows, ("comments_processed",))
        words = file.stem.removeprefix("reddit_comments_").split("_")
        name = "_".join(w for w in words if w not in {"biased", "reduced"})
        found += [
            Statement(
                id=f"rb_{name}_{i}",
                text=str(row["comments_processed"]),
                category=words[0].rstrip("0123456789"),
                source="redditbias",
            )
            for i, row in enumerate(rows)
        ]
    return found

"""WinoBias (Zhao et al. 2018): the folder with {pro,anti}_stereotyped_type{1,2}.txt.{dev,test}.

Each numbered line marks an entity and a pronoun in brackets. Lines of the pro- and the
anti-stereotyped file form pairs that differ in the pronoun, which is the target term.
"""

from __future__ import annotations

import re
from pathlib import Path

from clinometer.errors import TableError
from clinometer.reliability.statement import Statement
from clinometer.storage.untrusted import open_text

WINOBIAS_FILES = "*_stereotyped_type*.txt.*"
_MARKED = re.compile(r"\[([^\]]*)\]")


def read_winobias(path: Path) -> list[Statement]:
    """Every sentence in the folder, paired with the same line of the other file."""
    files = sorted(path.glob(WINOBIAS_FILES)) if path.is_dir() else []
    if not files:
        raise TableError(f"{path}: expected a folder with WinoBias' {WINOBIAS_FILES}, found none")
    lines = {file.name: _lines(file) for file in files}
    found = []
    for name, sentences in lines.items():
        pro = name.startswith("pro_")
        partner = name.replace("pro_", "anti_", 1) if pro else name.replace("anti_", "pro_", 1)
        others = lines.get(partner, [])
        kind, split = name.split("_stereotyped_")[1].split(".txt.")
        for i, marked in enumerate(sentences):
            terms = _MARKED.findall(marked)
            found.append(
                Statement(
                    id=f"wb_{'pro' if pro else 'anti'}_{kind}_{split}_{i + 1}",
                    text=_MARKED.sub(r"\1", marked),
                    targets=tuple(terms[-1:]),
                    category="gender",
                    source="winobias",
                    other=_MARKED.sub(r"\1", others[i]) if i < len(others) else None,
                    direction="stereo" if pro else "antistereo",
                )
            )
    return found


def _lines(file: Path) -> list[str]:
    with open_text(file) as stream:
        return [line.partition(" ")[2].strip() for line in stream if line.strip()]

"""clinometer samples: files to try the commands on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from clinometer.cli.option import JSON, opt
from clinometer.cli.printing import console, print_json
from clinometer.cli.table import TerminalTable

#: Commands to try; each sample name is replaced by its path.
NEXT = (
    ("mine", "articles.jsonl", "--topic", "gender", "--out", "contexts.csv"),
    ("risk", "table.csv"),
    ("reliability", "score", "statements.csv", "--variants", "versions.jsonl"),
    ("annotate", "statements.csv"),
    ("reliability", "agreement", "judgements.csv"),
)


def samples_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write the files to.")],
    force: Annotated[bool, opt("Overwrite existing files.", "--force")] = False,
    json_output: JSON = False,
) -> None:
    """Write small sample files to try the commands on: articles, preferences, statements.

    All of them were written for this package. The statements are mild stereotypes.
    """
    from clinometer.samples import SAMPLES, write_samples

    written = write_samples(folder, force=force)
    commands = [
        shlex.join(["clinometer", *(str(folder / w) if w in SAMPLES else w for w in words)])
        for words in NEXT
    ]
    if json_output:
        print_json({"files": [str(file) for file in written], "next": commands})
        return
    table = TerminalTable().add_text("file", "what")
    for file in written:
        table.add_row(file, SAMPLES[file.name])
    table.print(console())
    console().print("Next:")
    for command in commands:
        console().print(f"  {command}", soft_wrap=True)

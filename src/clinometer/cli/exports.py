"""clinometer export: a run in a model card, and replies for people."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from clinometer import settings as ranges
from clinometer.cli.help import opt
from clinometer.cli.options import ALLOW, SEED
from clinometer.cli.printing import sentence
from clinometer.errors import SettingsError
from clinometer.runs import AuditSettings, Run
from clinometer.storage.untrusted import Allowed
from clinometer.topics import load_topic

RUN = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


def hugging_face_command(
    run: RUN,
    out: Annotated[Path, opt("A checkout of the model's repository.", "--out", "-o")],
    dataset: Annotated[
        str | None,
        opt(
            "Benchmark dataset on the Hub; writes .eval_results/clinometer-TOPIC.yaml too.",
            unset="model card only",
        ),
    ] = None,
) -> None:
    """Put the risks of a run into a model card, and into an evaluation-results file.

    README.md gets the metadata that the Hub shows and a section; all else in it stays.
    """
    from clinometer.exports import write_hugging_face

    _written(write_hugging_face(Run.load(run), out, dataset=dataset), "look at it, commit and push")


def labels_command(
    run: RUN,
    n: Annotated[int, opt("Replies to write, chosen at random.", "-n", allowed=ranges.COUNT)] = 200,
    seed: SEED = AuditSettings.seed,
    out: Annotated[Path, opt("File to write.", "--out", "-o")] = Path("replies.csv"),
    topic: Annotated[
        str | None,
        opt("The topic file of the run, if a function of yours reads the replies.", unset="none"),
    ] = None,
    allow: ALLOW = None,
) -> None:
    """Write sampled replies of a run for people to label, with the category its judge gave each.

    `clinometer import labels` reads the labels and corrects the run.
    """
    from clinometer.runs.calibration import sample_replies, write_replies

    if out.exists():
        raise SettingsError(f"{out}: exists already; name a new file for the sample")
    judged = Run.load(run)
    given = None if topic is None else load_topic(topic)
    allowed = Allowed.parse(allow or ())
    write_replies(out, sample_replies(judged, n, seed=seed, topic=given, allowed=allowed))
    names = shlex.quote(",".join(judged.preferences.categories))
    sheet = shlex.quote(str(out))
    _written([out], f"clinometer reliability annotate {sheet} --mode category --categories {names}")


def _written(files: list[Path], then: str) -> None:
    """Where the result is, and what comes next."""
    sentence(f"Wrote {', '.join(map(str, files))}. Next: {then}")

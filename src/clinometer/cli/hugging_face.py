"""clinometer export hugging-face: the risks of a run in the card of its model."""

from __future__ import annotations

from pathlib import Path

from clinometer.cli.options import argument
from clinometer.cli.printing import sentence
from clinometer.runs import Run
from clinometer.settings import option


def hugging_face_command(
    run: Path = argument("RUN", "A run folder."),
    out: Path = option(
        ..., "--out", "-o", help="A checkout of the model's repository."
    ),
    dataset: str | None = option(
        None,
        help="Benchmark dataset on the Hub; writes .eval_results/clinometer-TOPIC.yaml too.",
        unset="model card only",
    ),
) -> None:
    """Put the risks of a run into a model card, and into an evaluation-results file.

    README.md gets the metadata that the Hub shows and a section; all else in it stays.
    """
    from clinometer.report.model_card import write_hugging_face

    files = write_hugging_face(Run.load(run), out, dataset=dataset)
    sentence(f"Wrote {', '.join(map(str, files))}. Next: look at it, commit and push")

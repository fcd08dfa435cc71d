"""clinometer export lm-eval: an audit as a task of lm-evaluation-harness."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from clinometer.cli.option import opt
from clinometer.cli.parameters import GROUPS, grouped, topic_of
from clinometer.cli.publish.export import written
from clinometer.runs import AuditSettings
from clinometer.runs.audit import asked_contexts


@grouped
def export_lm_eval_command(
    topic: Annotated[str, opt("A built-in topic or a .toml file.")] = "gender",
    contexts: Annotated[
        str | None,
        opt(
            "A source (wikipedia, book, conversation, textbook, web), a built-in context set "
            "or a .csv file.",
            unset="paper-TOPIC",
        ),
    ] = None,
    groups: GROUPS = None,
    *,
    settings: Annotated[AuditSettings, "max_contexts", "seed"],
    out: Annotated[Path, opt("Folder to write.", "--out", "-o")],
) -> None:
    """Write an audit as a task folder for lm_eval --include_path: one document per cell."""
    from clinometer.bridges.lm_eval.task_folder import TaskFolder

    asked = topic_of(topic, groups)
    folder = TaskFolder(asked, asked_contexts(asked, contexts, settings))
    folder.write(out)
    written(
        [out],
        f"lm_eval --include_path {out} --tasks {folder.name} --log_samples --output_path results "
        f"…, then clinometer import lm-eval results/…/samples_{folder.name}_….jsonl --task {out} "
        "--out RUN",
    )

"""E.3: contexts are images. A CLIP-type model's preference over texts, for groups in many scenes.

    IMAGES/nurse/street.png, IMAGES/nurse/office.png, IMAGES/engineer/street.png, …

Folders are groups, their file names are scenes: a scene that two groups share is one context. A
missing image is a missing cell, counted as always. The answers become an ordinary run; for any
other modality, `clinometer import table` reads a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from clinometer.contexts import ContextSet
from clinometer.errors import ModelError, SettingsError
from clinometer.extras import require
from clinometer.measure import Preferences
from clinometer.models import ModelInfo
from clinometer.models.catalog.pretrained import loading, pretrained_pipeline
from clinometer.report import Table
from clinometer.report.figures import risks_figure
from clinometer.runs import AuditSettings, Run, RunFolder
from clinometer.runs.folder.record import new_record
from clinometer.storage.jsonl import Lines, Row
from clinometer.storage.resumable import Progress
from clinometer.studies.figures import Named, leaning_figure
from clinometer.studies.framework import Findings, risks_table
from clinometer.topics import Group, Topic

_ENDINGS = (".png", ".jpg", ".jpeg", ".webp")


@dataclass(frozen=True)
class Images:
    """Groups, scenes, and the file of each pair that exists."""

    groups: tuple[str, ...]
    scenes: tuple[str, ...]
    files: Mapping[tuple[str, str], Path]


def find_images(folder: Path) -> Images:
    """The images below a folder, one subfolder per group."""
    if not folder.is_dir():
        raise SettingsError(f"images {str(folder)!r}: no such folder")
    files = {
        (group.name, file.stem): file
        for group in sorted(folder.iterdir())
        if group.is_dir()
        for file in sorted(group.iterdir())
        if file.suffix.lower() in _ENDINGS
    }
    groups = tuple(dict.fromkeys(g for g, _ in files))
    scenes = tuple(sorted({s for _, s in files}))
    if not files:
        raise SettingsError(
            f"images {str(folder)!r}: expected GROUP/SCENE with a suffix of "
            f"{', '.join(_ENDINGS)}; found none"
        )
    return Images(groups, scenes, files)


def ask_images(
    model: str,
    images: Images,
    texts: Mapping[str, str],
    out: Path,
    *,
    settings: AuditSettings,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Run:
    """One run of one model. Answers are stored as they arrive, and computed once."""
    if len(texts) < 2:
        raise SettingsError(f"--label: expected at least two, found {len(texts)}")
    out.mkdir(parents=True, exist_ok=True)
    files = {"/".join(key): file for key, file in images.files.items()}
    identity = {"model": model, "labels": dict(texts)}
    with Lines(out / "answers.jsonl", identity).resumed(fresh=fresh) as lines:
        missing = [name for name in files if name not in lines.rows]

        def asked() -> Iterator[Row]:
            classify = _classifier(model, settings.load.device)
            for name in missing:
                yield {"id": name, "p": classify(files[name], list(texts.values()))}

        rows = lines.take(asked() if missing else (), list(files), progress)
    answers = {row["id"]: row["p"] for row in rows}
    topic = Topic(
        "vision",
        groups=tuple(Group(g) for g in images.groups),
        attributes={name: (text,) for name, text in texts.items()},
        title="Images",
    )
    contexts = ContextSet(
        "images", [f"[X], scene {s}: [Y]" for s in images.scenes], [1.0] * len(images.scenes)
    )
    values = np.full((len(images.groups), len(images.scenes), len(texts)), np.nan)
    for group, scene in images.files:
        values[images.groups.index(group), images.scenes.index(scene)] = answers[f"{group}/{scene}"]
    preferences = Preferences(
        values=values,
        groups=topic.group_names,
        contexts=contexts.ids,
        categories=topic.categories,
        context_weights=contexts.weights,
        group_weights=topic.group_weights,
        templates=tuple(contexts.templates),
    )
    info = ModelInfo(name=model, kind="image", revision="unknown", dtype="float32")
    return Run.measured(
        new_record(info, topic, contexts, settings), preferences, settings, folder=RunFolder(out)
    )


def vision_findings(named: list[tuple[str, Run]]) -> Findings:
    """Risks and leanings over images, as over sentences."""
    runs, names = [r for _, r in named], [n for n, _ in named]
    groups = [{"name": n, **row} for n, r in named for row in r.risks.groups_table()]
    return Findings(
        "vision",
        [
            risks_table("vision-risks", "Risks over scenes", named),
            Table("vision-groups", "Groups", pd.DataFrame(groups), hidden=("weight",)),
        ],
        [
            risks_figure(runs, names),
            leaning_figure([Named(n, r.risks, r.preferences.grid) for n, r in named]),
        ],
        runs,
    )


def _classifier(model: str, device: str) -> Callable[[Path, list[str]], list[float]]:
    require("scoring images", "PIL", "torch", "transformers")
    import PIL.Image

    from clinometer.models.local.load import choose_device

    with loading(model, model, instead=None):
        pipe = pretrained_pipeline("zero-shot-image-classification", model, choose_device(device))

    def classify(file: Path, texts: list[str]) -> list[float]:
        try:
            with PIL.Image.open(file) as image:
                picture = image.convert("RGB")
        except OSError as error:
            raise ModelError(f"image {str(file)!r}: cannot be read: {error}") from error
        answers = pipe(picture, candidate_labels=texts, hypothesis_template="{}")
        scores = {row["label"]: float(row["score"]) for row in answers}
        total = sum(scores.values())
        return [scores[t] / total for t in texts]

    return classify

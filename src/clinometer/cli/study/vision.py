"""clinometer study vision: images as contexts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clinometer.cli.option import opt
from clinometer.cli.parameters import grouped
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import Kept, progress
from clinometer.cli.study.frame import finish
from clinometer.cli.study.options import StudyOutput
from clinometer.errors import SettingsError
from clinometer.runs import AuditSettings


@grouped
def vision_command(
    images: Annotated[Path, typer.Argument(help="A folder with GROUP/SCENE.png.")],
    model: Annotated[
        list[str], opt("A CLIP-type model: folder or hub id; may be repeated.", "--model")
    ],
    label: Annotated[
        list[str], opt("CATEGORY=TEXT, such as 'male=a photo of a man'; may be repeated.")
    ],
    *,
    settings: Annotated[AuditSettings, "device", "seed"],
    output: Annotated[StudyOutput, "out", "only_plan", "no_page", "json_output"],
) -> None:
    """Which text a CLIP-type model prefers for groups in different scenes (E.3)."""
    from clinometer.models.catalog.spec import folder_name
    from clinometer.studies.extensions.vision import ask_images, find_images, vision_findings

    folder = output.folder("vision")
    found = find_images(images)
    texts = dict(_label(text) for text in label)
    if output.only_plan:
        if output.json_output:
            print_json({"study": "vision", "images": len(found.files), "models": model})
        else:
            line = f"study vision: {len(found.files):,} images to score with {len(model)} models"
            console().print(line, soft_wrap=True)
        return
    named = []
    for name in model:
        place = folder / "runs" / folder_name(name)
        with progress(name, unit="images", kept=Kept(place)) as watch:
            run = ask_images(
                name,
                found,
                texts,
                place,
                settings=settings,
                progress=watch,
            )
        named.append((name, run))
    finish(vision_findings(named), folder, output)


def _label(text: str) -> tuple[str, str]:
    name, equals, said = text.partition("=")
    if not equals or not name.strip() or not said.strip():
        raise SettingsError(f"--label: expected CATEGORY=TEXT; found {text!r}")
    return name.strip(), said.strip()

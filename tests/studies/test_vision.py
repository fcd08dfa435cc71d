"""Images as contexts, with a small CLIP made here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.small_clip import make_clip

from clinometer.errors import RunError, SettingsError
from clinometer.runs import AuditSettings, Run
from clinometer.statistics.arrays import FloatArray
from clinometer.studies.vision import ask_images, find_images, vision_findings

TEXTS = {"red": "a red thing", "blue": "a blue thing"}
SETTINGS = AuditSettings()


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two groups in four scenes, one picture missing."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for group in ("nurse", "engineer"):
        (folder / group).mkdir()
        for scene in ("street", "office", "night", "snow"):
            if (group, scene) != ("engineer", "snow"):
                pixels = rng.integers(0, 255, (40, 40, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(folder / group / f"{scene}.png")
    (folder / "notes.txt").write_text("not a group", encoding="utf-8")
    return folder


def direct(clip: Path, file: Path) -> FloatArray:
    """The same probabilities from the model's own forward pass."""
    import torch
    import transformers
    from PIL import Image

    model = transformers.CLIPModel.from_pretrained(clip).eval()
    words = transformers.AutoTokenizer.from_pretrained(clip)(
        list(TEXTS.values()), return_tensors="pt", padding=True
    )
    processor = transformers.CLIPImageProcessorPil.from_pretrained(clip)
    pixels = processor(Image.open(file).convert("RGB"), return_tensors="pt")
    with torch.no_grad():
        logits = model(**words, pixel_values=pixels["pixel_values"]).logits_per_image
    return np.asarray(logits.softmax(dim=-1)[0], dtype=float)


def test_scores_match_the_models_own_and_are_cached(
    clip: Path, pictures: Path, tmp_path: Path
) -> None:
    images = find_images(pictures)
    assert images.groups == ("engineer", "nurse")
    assert len(images.files) == 7
    run = ask_images(str(clip), images, TEXTS, tmp_path / "run", settings=SETTINGS)
    at = images.scenes.index("office")
    expected = direct(clip, images.files["nurse", "office"])
    assert run.preferences.values[1, at] == pytest.approx(expected, abs=1e-5)
    assert run.record.counts["cells_missing"] == 1

    # A line cut short is asked again; nothing else is.
    kept = tmp_path / "run" / "answers.jsonl"
    lines = kept.read_text(encoding="utf-8").splitlines()
    kept.write_text("\n".join([*lines[:-1], lines[-1][:20]]), encoding="utf-8")
    steps: list[tuple[int, int]] = []
    again = ask_images(
        str(clip),
        images,
        TEXTS,
        tmp_path / "run",
        settings=SETTINGS,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert steps == [(6, 7), (7, 7)]
    # One image alone, not in the batch of before: single precision, logits of the size of ten.
    assert np.allclose(again.preferences.values, run.preferences.values, atol=1e-5, equal_nan=True)
    assert Run.load(tmp_path / "run").risks.R.value == pytest.approx(run.risks.R.value, abs=1e-5)
    other = {"red": "something red", "blue": "something blue"}
    with pytest.raises(RunError, match="other settings: labels"):
        ask_images(str(clip), images, other, tmp_path / "run", settings=SETTINGS)
    found = vision_findings([("clip", run)])
    found.write(tmp_path / "study")
    assert (tmp_path / "study" / "charts" / "leaning.png").is_file()
    assert json.loads((tmp_path / "study" / "study.json").read_text(encoding="utf-8"))["runs"]


def test_folder_errors_are_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such folder"):
        find_images(tmp_path / "none")
    with pytest.raises(SettingsError, match="GROUP/SCENE"):
        find_images(tmp_path)

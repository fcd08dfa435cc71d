"""A steering vector is added where its file says, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import clinometer_pocket
import numpy as np
import pytest
import torch

from clinometer.errors import ModelError, SettingsError
from clinometer.models import LoadOptions, open_model
from clinometer.models.local.steer import Steering, fitted, layers_of
from clinometer.models.options import SampleOptions

MODEL = "pocket:gpt2-s"
TEXTS = ["The nurse said that", "The engineer said that"]


def hidden(scorer: Any, text: str) -> list[torch.Tensor]:
    ids = torch.tensor([scorer.head_tokens([text])[0]])
    with torch.inference_mode():
        return list(
            scorer.model(input_ids=ids, output_hidden_states=True).hidden_states
        )


def test_the_vector_is_added_to_one_layer(tmp_path: Path) -> None:
    plain: Any = open_model(MODEL, load=LoadOptions(device="cpu"))
    vector = np.random.default_rng(0).standard_normal(plain.model.config.hidden_size)
    file = tmp_path / "v.json"
    file.write_text(json.dumps({"layer": 0, "vector": (-2.0 * vector).tolist()}))
    load = LoadOptions(device="cpu", steer=str(file))
    steered = open_model(MODEL, load=load)
    before, after = (hidden(one, TEXTS[0]) for one in (plain, steered))
    assert torch.equal(before[0], after[0])
    moved = (after[1] - before[1]).numpy()
    assert np.allclose(moved, -2.0 * vector, atol=1e-5)
    assert "steered by v.json" in steered.info.notes
    # Another content under the same name is another run.
    first = load.scoring()["load.steer"]
    file.write_text(json.dumps({"layer": 0, "vector": vector.tolist()}))
    assert load.scoring()["load.steer"] != first


def test_a_fit_is_the_difference_of_the_means() -> None:
    scorer: Any = open_model(MODEL, load=LoadOptions(device="cpu"))
    n = len(layers_of(scorer.model))
    found = fitted(scorer, TEXTS[:1], TEXTS[1:], None)
    assert found.layer == n // 2
    first, second = (hidden(scorer, text)[n // 2 + 1][0, -1] for text in TEXTS)
    assert np.allclose(found.vector, (first - second).numpy(), atol=1e-4)
    random = np.array(found.at_random(1).vector)
    assert np.linalg.norm(random) == pytest.approx(np.linalg.norm(found.vector))
    assert abs(np.corrcoef(random, found.vector)[0, 1]) < 0.5
    with pytest.raises(ModelError, match="layer"):
        fitted(scorer, TEXTS[:1], TEXTS[1:], n)


@pytest.mark.parametrize(
    "content",
    [
        *("no json", "[]", '{"layer": 0}'),
        *('{"layer": "x", "vector": [1]}', '{"layer": 0, "vector": ["a"]}'),
    ],
)
def test_a_file_that_is_no_vector_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "v.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match="study fixes"):
        Steering.read(file)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "v.json"
    file.write_text(json.dumps({"layer": 0, "vector": [1.0, 2.0]}), encoding="utf-8")
    with pytest.raises(ModelError, match="vector of"):
        open_model(
            str(clinometer_pocket.folder("gpt2-s")), load=LoadOptions(steer=str(file))
        )
    sampled = SampleOptions(replies=2)
    with pytest.raises(SettingsError, match="on this machine"):
        open_model(
            "app:own:function", load=LoadOptions(steer=str(file), sampled=sampled)
        )
    with pytest.raises(SettingsError, match="cannot be read"):
        LoadOptions(steer=str(tmp_path / "none.json")).scoring()

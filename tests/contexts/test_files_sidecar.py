"""Sidecars of context sets: what is known is checked, what is not is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clinometer.contexts import ContextSet, SetMetadata, builtin_contexts, load_contexts
from clinometer.contexts.files import Sidecar


@pytest.mark.parametrize("name", builtin_contexts())
def test_metadata_is_all_that_a_builtin_sidecar_says_beside_the_content(name: str) -> None:
    about = load_contexts(name).metadata
    assert not about.model_extra
    content = {"name", "sha256", "n", "n_eff"}
    assert not content & set(about.to_dict())


def test_fields_of_ones_own_and_of_later_versions_are_kept(tmp_path: Path) -> None:
    about = {"corpus": "novels", "mine": {"shelf": [1, 2]}, "articles_by_context": {"0123": [4, 9]}}
    file = tmp_path / "set.json"
    file.write_text(json.dumps(about), encoding="utf-8")
    metadata = Sidecar.read(file).metadata
    assert metadata.articles_by_context == {"0123": [4, 9]}
    contexts = ContextSet("set", ["The [X] said that [Y]"], [1], metadata=metadata)
    contexts.save(tmp_path / "set.csv")
    again = ContextSet.load(tmp_path / "set.csv")
    assert again.metadata.to_dict() == about
    assert again.draw(1, seed=0).metadata == SetMetadata.model_validate(about)

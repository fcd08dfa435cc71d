"""Models of Inspect's providers as models of an audit."""

from __future__ import annotations

import pytest

from clinometer.errors import MissingExtra, ModelNotFound
from clinometer.models import LoadOptions, ModelSource, ModelSpec, SampleOptions, open_model

SAMPLED = LoadOptions(sampled=SampleOptions(replies=3, seed=5))


def test_the_name_has_a_provider() -> None:
    assert ModelSpec.parse("inspect:openai/gpt-4o").place is ModelSource.INSPECT
    with pytest.raises(ModelNotFound, match="inspect:PROVIDER/MODEL"):
        ModelSpec.parse("inspect:gpt-4o")


def test_without_the_package_the_command_is_named() -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'clinometer\[inspect\]'"):
        open_model("inspect:mockllm/model", load=SAMPLED)

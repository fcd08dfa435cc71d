from __future__ import annotations

from typing import Any

import pytest

from clinometer.errors import RunError
from clinometer.storage.resumable import FolderRecord, ModelRecord


def test_a_record_must_say_what_identifies_it() -> None:
    class Nameless(FolderRecord):
        pass

    class Named(FolderRecord):
        @property
        def identity(self) -> dict[str, Any]:
            return {"kind": self.kind}

    with pytest.raises(TypeError, match="identity"):
        Nameless()  # type: ignore[abstract]
    assert Named(kind="x").identity == {"kind": "x"}


def test_a_model_in_another_precision_is_another_model() -> None:
    begun = ModelRecord(id="m", kind="causal", revision="1", dtype="float32")
    begun.check_same(begun)
    with pytest.raises(RunError, match=r"float32.*bfloat16"):
        begun.check_same(begun.model_copy(update={"dtype": "bfloat16"}))

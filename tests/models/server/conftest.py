"""A real llama.cpp server with the embedded model, and a proxy that fails on purpose."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.components import require
from tests.models.server.proxy import Proxy
from tests.present import present
from tests.processes import PATIENCE_S, free_port, model_server

from clinometer.models import ServerOptions


def unpacked(source: Path, target: Path) -> Path:
    """The same weights as half-precision floats. llama.cpp's kernels for packed weights round the
    activations to 8 bits, which moves a preference by up to 0.04: that is the server's arithmetic
    and not ours, so that we are compared without it."""
    import gguf

    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(
        target, present(reader.get_field("general.architecture")).contents()
    )
    for entry in reader.fields.values():
        if entry.name.startswith(
            ("GGUF.", "general.architecture", "general.file_type")
        ):
            continue
        kind = entry.types[0]
        inner = entry.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(entry.name, entry.contents(), kind, sub_type=inner)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(
            tensor.name, values.astype(np.float32 if values.ndim == 1 else "f2")
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def serving(
    model: Path, *, port: int = 0, log: Path | None = None
) -> contextlib.AbstractContextManager[str]:
    require("xllamacpp")
    port = free_port(port)
    script = Path(__file__).with_name("llama.py")
    # -P: not from the script's folder, whose http.py hides the standard library's.
    command = [sys.executable, "-P", script, model, port]
    return model_server(command, port=port, log=log or model.with_suffix(".log"))


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from clinometer.models.catalog.weights import embedded_gguf

    model = unpacked(embedded_gguf(), tmp_path_factory.mktemp("gguf") / "smol.gguf")
    with serving(model) as url:
        yield url


@pytest.fixture
def proxy(llama: str, until_the_end: Callable[[Proxy], Proxy]) -> Callable[..., Proxy]:
    return lambda **how: until_the_end(Proxy(llama, **how))


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit without --out is kept in the current folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same backoff, in milliseconds; but a server on a busy machine is slow, and not gone."""
    for name in ("timeout", "patience"):
        monkeypatch.setitem(
            present(ServerOptions.__init__.__kwdefaults__), name, PATIENCE_S
        )
    from clinometer.models.client import retries

    monkeypatch.setattr(retries, "_FIRST_WAIT_S", 0.002)
    monkeypatch.setattr(retries, "_LONGEST_WAIT_S", 0.05)


@pytest.fixture(autouse=True)
def no_connection_left_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tests forget their scorers; when a forgotten connection is found, and by which test, is up to
    the garbage collector."""
    from clinometer.models.client.client import Client

    made: list[Client] = []
    begin = Client.__init__

    def remember(self: Client, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        made.append(self)

    monkeypatch.setattr(Client, "__init__", remember)
    yield
    for client in made:
        client.close()

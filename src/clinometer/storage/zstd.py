"""zstandard files, unpacked as they are read."""

from __future__ import annotations

import io
from typing import IO, Any

from clinometer.extras import require

#: Bytes passed to zstandard at a time: a malicious frame expands them to at most about 100 MB.
_ZST_CHUNK = 2048


class ZstReader(io.RawIOBase):
    """zstandard frames, one after the other; a file that ends inside a frame is an error.

    zstandard's own stream_reader silently accepts such a file.
    """

    def __init__(self, raw: IO[bytes]) -> None:
        require("reading .zst files", "zstandard")
        import zstandard

        self._raw, self._decompressor = raw, zstandard.ZstdDecompressor()
        self._frame = self._decompressor.decompressobj()
        self._given = False  # whether the frame has received any bytes
        self._packed = self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._packed = self._packed or self._raw.read(_ZST_CHUNK)
            if not self._packed:
                if self._given:
                    raise EOFError("the file ends inside a zstandard frame")
                return 0
            try:
                self._ready = self._frame.decompress(self._packed)
            except Exception as exc:  # zstandard.ZstdError, whose module is loaded here only
                raise OSError(str(exc)) from exc
            self._given, self._packed = True, b""
            if self._frame.eof:
                self._packed = self._frame.unused_data
                self._frame, self._given = self._decompressor.decompressobj(), False
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

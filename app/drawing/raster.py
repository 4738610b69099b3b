"""Cells of a palette as a PNG image inside an SVG."""

from __future__ import annotations

from base64 import b64encode
from struct import pack
from zlib import compress, crc32

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_INDEXED = 3  # the colour type of an image with a palette
_MOST_COLOURS = 256


def png_address(cells: NDArray[np.uint8], palette: tuple[str, ...]) -> str:
    """The image as a `data:` address: `cells` [row, column] are indices into a palette of
    "#RRGGBB". Colours that are not hexadecimal become black. Source: PNG specification, third
    edition."""
    assert len(palette) <= _MOST_COLOURS
    height, width = cells.shape
    colours = b"".join(
        bytes.fromhex(each[1:]) if each.startswith("#") else bytes(3) for each in palette
    )
    rows = np.zeros((height, width + 1), np.uint8)  # the first byte of a row is its filter: none
    rows[:, 1:] = cells
    image = (
        _SIGNATURE
        + _chunk(b"IHDR", pack(">IIBBBBB", width, height, 8, _INDEXED, 0, 0, 0))
        + _chunk(b"PLTE", colours)
        + _chunk(b"IDAT", compress(rows.tobytes(), 9))
        + _chunk(b"IEND", b"")
    )
    return f"data:image/png;base64,{b64encode(image).decode()}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))

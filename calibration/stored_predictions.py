"""Predictions that were written before the measurement: JSON lines, gzipped by the file's name."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from simulator.errors import InputError

Row = dict[str, Any]


def write(path: Path, predicted: Iterable[Row]) -> None:
    """Write one line per prediction."""
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in predicted).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def rows(path: Path) -> Iterator[Row]:
    """The lines of a file. Raises InputError if it cannot be read."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
        yield from map(json.loads, text.splitlines())
    except (OSError, EOFError, ValueError) as error:
        raise InputError(
            f"{path}: cannot be read: {error}; expected JSON lines written with --write"
        ) from None

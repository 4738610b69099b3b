"""Samples on disk: one checksummed, synced line each, so that a crash loses at most one.

A line is the CRC-32 of the rest in eight hex digits, a space, and JSON. The first line holds the
`header` (GPU, versions), the others a `process` that measures, a `reference` against drift, or data
of a `point`. Later lines about a point extend and override the earlier ones.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from calibration.sweeps.registry import Point
from simulator.errors import InputError

VERSION = 1
IDENTITY = ("version", "gpu", "sheet", "torch", "cuda", "cudnn", "triton")
"""Fields that must agree within one file. Drivers and CPUs may differ between processes, and each
process records its own."""

Row = dict[str, Any]
_BEGIN = re.compile(rb'[0-9a-f]{8} \{"header"')


@dataclass
class Measurements:
    """The contents of a log: samples by the name of the point, in the order of their first
    lines."""

    header: Row
    processes: list[Row] = field(default_factory=list[Row])
    references: list[Row] = field(default_factory=list[Row])
    samples: dict[str, Row] = field(default_factory=dict[str, Row])
    corrupt_lines: list[int] = field(default_factory=list[int])

    def add(self, row: Row) -> None:
        """Add the data of one line."""
        if "point" in row:
            sample = self.samples.setdefault(Point(**row["point"]).name, {})
            if "warm" in row:
                sample.pop("failed", None)
            sample.update(row)
        elif "process" in row:
            self.processes.append(row["process"])
        elif "reference" in row:
            self.references.append(row["reference"])

    @property
    def measured(self) -> set[str]:
        """Names of the points that were timed, or that failed and so will not be tried again."""
        return {name for name, s in self.samples.items() if "warm" in s or "failed" in s}

    @property
    def failed(self) -> dict[str, str]:
        """The reasons why points could not be measured, by name."""
        return {name: s["failed"] for name, s in self.samples.items() if "failed" in s}

    @property
    def without_kernels(self) -> set[str]:
        """Names of the points that were timed, but whose kernels have not been read yet."""
        return {name for name, s in self.samples.items() if "warm" in s and "kernels" not in s}


def encoded(row: Row) -> bytes:
    """One line, with its checksum first."""
    text = json.dumps(row, separators=(",", ":"), allow_nan=False).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decoded(line: bytes) -> Row | None:
    """The content of a line; None if it is truncated or changed."""
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        row = json.loads(text)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def read(path: Path) -> Measurements:
    """The samples of a `.jsonl` or `.jsonl.gz`. Raises InputError if it is not a log of this
    version."""
    try:
        raw = path.read_bytes()
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path}: cannot be read: {error}; expected a file that `calibrate measure` wrote"
        ) from None
    return _parsed(path, raw)


def _parsed(path: Path, raw: bytes) -> Measurements:
    measurements: Measurements | None = None
    for number, row in _rows(raw):
        if measurements is None:
            if row is None or "header" not in row:
                raise InputError(
                    f"{path}: line 1 is not a header: expected a file that `calibrate measure` "
                    "wrote, its first line unchanged. Move the file away or name another folder"
                )
            measurements = Measurements(row["header"])
            if measurements.header.get("version") != VERSION:
                raise InputError(
                    f"{path}: format {measurements.header.get('version')!r}, expected {VERSION}: "
                    "another version of Ridgepoint wrote it. Name another folder"
                )
        elif row is None:
            measurements.corrupt_lines.append(number)
        else:
            measurements.add(row)
    if measurements is None:
        raise InputError(f"{path}: empty: expected a header and samples; measure again")
    return measurements


def _rows(raw: bytes) -> Iterator[tuple[int, Row | None]]:
    for number, line in enumerate(io.BytesIO(raw), 1):
        yield number, decoded(line)


def _intact_bytes(raw: bytes) -> int:
    """The length of a log without an incomplete last line."""
    begin = raw.rfind(b"\n", 0, max(len(raw) - 1, 0)) + 1
    return len(raw) if decoded(raw[begin:]) is not None else begin


class Log:
    """A log open for writing, with the contents that it had when it was opened.

    An incomplete last line is cut off. `measurements.corrupt_lines` holds the numbers of the
    damaged lines before it, whose samples count as not measured. Raises InputError for a log of
    another GPU or version, for a log that another process writes, and if the disk is full; lines
    that were written before are not lost.
    """

    def __init__(self, path: Path, header: Row) -> None:
        self.path = path
        header = {"version": VERSION, **header}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.file: BinaryIO = path.open("a+b", buffering=0)  # pyright: ignore
            _lock(self.file, path)
            self.file.seek(0)
            raw = self.file.read()
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error}; name another folder") from None
        try:
            self._take_up(raw, header)
        except InputError:
            self.file.close()
            raise

    def _take_up(self, raw: bytes, header: Row) -> None:
        """Continue after the contents of the file, or begin an empty file."""
        fresh = not raw or (b"\n" not in raw and (len(raw) < 18 or bool(_BEGIN.match(raw))))
        self._end = 0 if fresh else _intact_bytes(raw)
        self.measurements = (
            Measurements(header) if fresh else _parsed(self.path, raw[: self._end] or raw)
        )
        self._check(header)
        self.dropped_bytes = len(raw) - self._end
        if self.dropped_bytes:
            self.file.truncate(self._end)
        if fresh:
            self.write({"header": header})

    def _check(self, header: Row) -> None:
        old = self.measurements.header
        keys = (*IDENTITY, "cpu") if header.get("gpu") is None else IDENTITY
        for key in keys:
            if old.get(key) != header.get(key):
                raise InputError(
                    f"{self.path}: measured with {key} {old.get(key)!r}, but this process "
                    f"has {header.get(key)!r}: expected one {key} per file. Name another folder "
                    "or move this file away"
                )

    def write(self, row: Row) -> None:
        """Append a line, which is on disk when this method returns."""
        line = encoded(row)
        try:
            rest = line
            while rest:  # an unbuffered file may accept only a part of the bytes
                rest = rest[self.file.write(rest) :]
            os.fsync(self.file.fileno())
        except OSError as error:
            self._cut()
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise InputError(
                    f"{self.path}: the disk is full: expected {len(line)} free bytes. All "
                    "samples so far are kept. Free space and run the same command again"
                ) from None
            raise InputError(
                f"{self.path}: cannot be written: {error}; all samples so far are kept"
            ) from None
        self._end += len(line)
        self.measurements.add(row)

    def _cut(self) -> None:
        """Remove a partly written line; if that fails, the next opening removes it."""
        try:
            self.file.truncate(self._end)
        except OSError:
            print(
                f"{self.path}: the incomplete last line will be dropped when it is next opened",
                file=sys.stderr,
            )

    def close(self) -> None:
        self.file.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _lock(file: BinaryIO, path: Path) -> None:
    """Lock the log for one process, if the system has such locks; they end with the process."""
    try:
        import fcntl  # Windows does not have it
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise InputError(
            f"{path}: another process measures into it. Wait for it or name another folder"
        ) from None

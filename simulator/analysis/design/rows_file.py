"""The file of a design's rows: a line for each part, appended, with its checksum.

    <crc32 of the rest, in hex> {"format": "ridgepoint-rows", "version": 2, "design": …, …}
    <crc32 of the rest, in hex> {"points": […], "table": [[…], …], "refused": {…}}

Lines are never changed: a line that is damaged or cut off by a crash is skipped, and its points are
predicted again.
"""

from __future__ import annotations

import sys
from binascii import crc32
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import numpy as np

from simulator.analysis.design.design import Design, Rows
from simulator.analysis.design.network_files import changed_files, network_files
from simulator.analysis.design.release import release
from simulator.errors import InputError
from simulator.simulate.step_columns import COLUMNS

if sys.platform != "win32":
    import fcntl

FORMAT, VERSION = "ridgepoint-rows", 2


class RowsFile:
    """The rows of a design in a file, which is locked against other processes. `rows` are the rows
    in it, `damaged` is the number of skipped lines."""

    def __init__(self, path: Path, design: Design) -> None:
        """Open or create the file. Raises InputError if it cannot be written, another process
        writes it, or it holds rows of another design, of another release or of networks whose
        files have changed since."""
        self.path, self.design = path, design
        self.parts: list[Rows] = []
        self.damaged = 0
        self._known: set[int] = set()
        try:
            self._file = path.open("ab+")
        except OSError as error:
            raise InputError(
                f"--into {path}: cannot write: {error.strerror}: expected a file; name another"
            ) from error
        try:
            self._lock()
            self._read()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> RowsFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._known)

    def missing(self) -> Sequence[int]:
        """The points of the design that have no row, ascending."""
        points = self.design.points
        return points if not self._known else [p for p in points if p not in self._known]

    def append(self, rows: Rows) -> None:
        """Append the rows of points that are not in the file yet. Raises InputError if the disk is
        full."""
        new = [at for at, point in enumerate(rows.points) if point not in self._known]
        points = [rows.points[at] for at in new]
        refused = {p: rows.refused[p] for p in points if p in rows.refused}
        table = rows.table[new]
        line = {"points": points, "table": table.tolist(), "refused": refused}
        self._write(line)
        self._keep(Rows(points, table, refused))

    def _keep(self, rows: Rows) -> None:
        self.parts.append(rows)
        self._known.update(rows.points)

    def _lock(self) -> None:
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"--into {self.path}: another process is writing it: expected one at a time; wait "
                "for it, or name another file"
            ) from None

    def _read(self) -> None:
        self._file.seek(0)
        raw = self._file.read()
        if not raw:
            self._write(self._header())
            return
        lines = raw.split(b"\n")
        head = _line(lines[0])
        if head is None or head.get("format") != FORMAT:
            raise InputError(
                f"--into {self.path}: not a file of rows: expected a file that a sweep has "
                "written, or a new file; name another file"
            )
        own = self._header()
        whose = {"version": "another format", "release": "another release of Ridgepoint"}
        whose["design"] = "another design"
        for field, what in whose.items():
            if head.get(field) != own[field]:
                raise InputError(
                    f"--into {self.path}: holds rows of {what}: expected rows of this sweep; name "
                    "another file"
                )
        if changed := changed_files(head["networks"], own["networks"]):
            raise InputError(
                f"--into {self.path}: {', '.join(changed)} changed after its rows were predicted: "
                "expected the same files; restore them, or name another file of rows"
            )
        for text in filter(None, lines[1:]):
            line = _line(text)
            if line is None:
                self.damaged += 1
                continue
            rows = Rows(
                line["points"],
                np.array(line["table"], dtype=float).reshape(-1, len(COLUMNS)),
                {int(point): reason for point, reason in line["refused"].items()},
            )
            self._keep(rows)
        if lines[-1]:  # the last line was cut off: the next row starts a new line
            self._file.write(b"\n")

    def _header(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "release": release(),
            "axes": {name: list(values) for name, values in self.design.axes.items()},
            "columns": COLUMNS,
            "design": self.design.key,
            "networks": network_files(self.design),
        }

    def _write(self, line: dict[str, Any]) -> None:
        text = msgspec.json.encode(line)
        try:
            self._file.write(b"%08x %b\n" % (crc32(text), text))
            self._file.flush()
        except OSError as error:
            raise InputError(
                f"--into {self.path}: cannot write: {error.strerror}: expected free space; the "
                "rows so far are stored. Free some space and run the same command again"
            ) from error


def _line(text: bytes) -> dict[str, Any] | None:
    """The content of a line; None if its checksum does not match."""
    checksum, _, content = text.partition(b" ")
    if checksum != b"%08x" % crc32(content):
        return None
    return msgspec.json.decode(content)

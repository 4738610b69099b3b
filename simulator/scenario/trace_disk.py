"""Traces and families of traces on disk, under a key of all that they depend on."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.records import Trace
from simulator.scenario import module, trace_module
from simulator.scenario.gpu_class import as_seen
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.trace_families import Line
from simulator.symbols import Symbolic, TraceCache
from simulator.symbols.cache import key as disk_key
from simulator.symbols.family_file import load as load_families
from simulator.symbols.probes import Tracer

FOLDER_VARIABLE = "RIDGEPOINT_TRACES"


class TraceDisk:
    """The folder of traces; none until `open`."""

    def __init__(self) -> None:
        self._cache: TraceCache | None = None

    def open(self, folder: Path | str | None = None, even_if_off: bool = False) -> None:
        """Store traces in this folder, by default the user's cache, from now on.

        RIDGEPOINT_TRACES names another folder, or switches storing off if it is "off" and not
        `even_if_off`.
        """
        variable = os.environ.get(FOLDER_VARIABLE, "")
        off = variable == "off"
        variable = "" if off and even_if_off else variable
        self._cache = None if off and not even_if_off else TraceCache(variable or folder)

    def close(self) -> None:
        """Store nothing, and read nothing, from now on."""
        self._cache = None

    def trace(self, request: TraceRequest, gpu: GPU, make: Callable[[], Trace]) -> Trace:
        """The stored trace of a request; else what `make` returns, which is stored."""
        return self._cache.get(_name(request, gpu), make) if self._cache else make()

    def families_path(self, request: TraceRequest, gpu: GPU, line: Line) -> Path:
        """The file of the families along a line. Raises InputError if no folder is open."""
        if self._cache is None:
            raise InputError("no families on disk: expected a folder of traces; call keep_on_disk")
        return self._cache.families(_name(request, gpu, line=line))

    def load_families(
        self, request: TraceRequest, gpu: GPU, line: Line, tracer: Tracer
    ) -> Symbolic | None:
        """The stored families along a line; None if there are none that can be read."""
        if self._cache is None:
            return None
        path = self.families_path(request, gpu, line)
        try:
            return load_families(path, tracer) if path.is_file() else None
        except InputError:
            return None

    def save_families(
        self, request: TraceRequest, gpu: GPU, line: Line, families: Symbolic
    ) -> None:
        """Store families along a line, if a folder is open."""
        if self._cache is not None:
            self._cache.put_families(_name(request, gpu, line=line), families)


def _name(request: TraceRequest, gpu: GPU, **more: Any) -> str:
    fields = {
        name: getattr(request, name)
        for name in TraceRequest.__dataclass_fields__
        if name != "network"
    }
    network = request.network
    return disk_key(network, as_seen(network, gpu), by=_sources(), **fields, **more)


@cache
def _sources() -> str:
    """A digest of the files that load and trace a network."""
    paths = (module.__file__, trace_module.__file__)
    return sha256(b"".join(Path(path).read_bytes() for path in paths)).hexdigest()

"""Families of traces of the catalogue's networks, shipped with the package: no torch is needed.

`families` looks a request up. `index.json` holds the file of each request, and a digest of the code
that traced it. A file that other code traced is not used, so a packaged trace equals a fresh one.
`python -m simulator.scenario.packaged` updates the files.
"""

from __future__ import annotations

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.packaged.contents import card_of, line_of, name_of
from simulator.scenario.packaged.index import FOLDER, read_index, stamp, versions_agree
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.traces.families import Line
from simulator.symbols import Symbolic
from simulator.symbols.family_file import load
from simulator.symbols.probes import Tracer

__all__ = ["families"]


def families(request: TraceRequest, gpu: GPU, line: Line, tracer: Tracer) -> Symbolic | None:
    """The packaged families of a request at any batch and sequence; None if none was traced by this
    code with this version of Python and torch."""
    if request.network not in CATALOGUE or line != line_of(request.network):
        return None
    request = replace(request, batch=None, seq=None)
    card, name = card_of(request.network, gpu), name_of(request)
    if card is None or name is None:
        return None
    index = read_index()
    entry = index.entries.get(f"{name}.{card}")
    if entry is None or not versions_agree(index):
        return None
    if entry.stamp != stamp(request.network, index.torch, index.python):
        return None
    try:
        return load(FOLDER / entry.file, tracer)
    except InputError:  # a damaged installation: trace the network
        return None

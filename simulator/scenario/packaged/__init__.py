"""Families of traces of the catalogue's networks, shipped with the package: no torch is needed.

`families` looks a request up. `index.json` holds the file of each request, and a digest of the code
that traced it. A file that other code traced is not used, so a packaged trace equals a fresh one.
The families of a training step with another optimizer are those of AdamW with the update of that
optimizer, or a separate file if the layout or the order of gradients differs from batch to batch.
`python -m simulator.scenario.packaged` updates the files.

May import the networks' catalogue, symbols, and the other modules of `simulator.scenario`.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.packaged.contents import UPDATES_OF, card_of, line_of, name_of
from simulator.scenario.packaged.index import FOLDER, Entry, read_index, stamp, versions_agree
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.traces.families import Line
from simulator.symbols import Symbolic
from simulator.symbols.family_file import load
from simulator.symbols.probes import Tracer
from simulator.symbols.refusals import Refused
from simulator.symbols.updates import load_update, with_update

__all__ = ["Files", "families", "files_of"]


class Files(NamedTuple):
    """The files of a request: those of its network, and of its optimizer unless that is AdamW."""

    network: Entry
    update: Entry | None


def families(request: TraceRequest, gpu: GPU, line: Line, tracer: Tracer) -> Symbolic | None:
    """The packaged families of a request at any batch and sequence; None if none was traced by this
    code with this version of Python and torch."""
    files = files_of(request, gpu, line)
    if files is None:
        return None
    network, update = files
    try:
        loaded = load(FOLDER / network.file, tracer, network.half)
        if network.refusal is not None:
            return Refused.within(loaded, network.refusal, tracer, network.refusing)
        if update is None:
            return loaded
        return with_update(loaded, load_update(FOLDER / update.file, update.half), tracer)
    except InputError:  # a damaged installation: trace the network
        return None


def files_of(request: TraceRequest, gpu: GPU, line: Line) -> Files | None:
    """The files that `families` reads for a request, or None."""
    if request.network not in CATALOGUE or line != line_of(request.network):
        return None
    card = card_of(request.network, gpu)
    if card is None or not versions_agree(read_index()):
        return None
    request = replace(request, batch=None, seq=None)
    if not request.training or request.optimizer == "adamw":
        network = _entry_of_kernel(request, card)
        return network and Files(network, None)
    return _files_with_update(request, card)


def _files_with_update(request: TraceRequest, card: str) -> Files | None:
    """The files of a training step with an optimizer other than AdamW. An update is compared with
    traces for the families of one card only, so other families have none."""
    own = _entry(request, card)
    if own is not None and not own.is_update:
        return Files(own, None)
    network = _entry_of_kernel(replace(request, optimizer="adamw"), card)
    if network is None or network.refusal is not None:
        return network and Files(network, None)
    compared = _entry(replace(request, optimizer="adamw", sdpa=None), UPDATES_OF)
    update = _entry(replace(request, sdpa=None), UPDATES_OF)
    if compared is None or update is None or not update.is_update:
        return None
    same = (compared.file, compared.half) == (network.file, network.half)
    return Files(network, update) if same else None


def _entry_of_kernel(request: TraceRequest, card: str) -> Entry | None:
    """The entry of a request, or that of the default kernel of attention if the network calls no
    attention."""
    entry = _entry(request, card)
    if entry is None and request.sdpa is not None:
        plain = _entry(replace(request, sdpa=None), card)
        return None if plain is None or plain.attention else plain
    return entry


def _entry(request: TraceRequest, card: str) -> Entry | None:
    """The entry of a request if this code traced it."""
    name, index = name_of(request), read_index()
    entry = index.entries.get(f"{name}.{card}")
    if name is None or entry is None:
        return None
    return entry if entry.stamp == stamp(request.network, index.torch, index.python) else None

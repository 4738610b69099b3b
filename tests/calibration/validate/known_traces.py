"""Traces of recorded cases without running their networks.

A packaged family equals a fresh trace: its stamp is that of the code which traced it, and
tests/simulator/scenario compares both. A case that no family covers is traced.
"""

from __future__ import annotations

from typing import Any

from calibration.validate.trace_fidelity import retrace
from simulator.hardware.gpu import gpu as find_gpu
from simulator.networks.catalogue import CATALOGUE
from simulator.records import Trace
from simulator.scenario import packaged
from simulator.scenario.packaged.contents import line_of, request_of
from simulator.symbols.refusals import Refused

OTHER_INPUTS = ("dit-xl", "whisper-encoder")
"""Networks whose recorded inputs have other dtypes than the packaged ones."""


def known(case: dict[str, Any]) -> Trace | None:
    """The packaged trace of a recorded case at its batch and sequence; None if no family covers
    it."""
    network = case["network"]
    if network not in CATALOGUE or network in OTHER_INPUTS or case["sizes"]:
        return None
    optimizer, training = case["optimizer"] or "adamw", case["phase"] == "training"
    request = request_of(network, case["precision"], training, optimizer=optimizer)
    family = packaged.families(request, find_gpu("h200"), line_of(network), _not_packaged)
    if family is None or isinstance(family, Refused):
        return None
    try:
        return family.at(case["batch"], case["seq"] or None)
    except _NotPackagedError:
        return None


def traced(case: dict[str, Any]) -> Trace:
    """The trace of a recorded case."""
    return known(case) or retrace(case)


class _NotPackagedError(Exception):
    pass


def _not_packaged(batch: int, seq: int) -> Trace:
    raise _NotPackagedError

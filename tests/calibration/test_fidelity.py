"""What a GPU was asked to do against what is traced without one, for every recorded network.

The kernels' number is the plain step's: recording adds kernels of its own to writes under a mask.
"""

from __future__ import annotations

import gzip
import json

import pytest

from calibration.fidelity import compare, retrace
from calibration.recordings import MEASUREMENTS, recordings
from simulator.hardware import gpu as find_gpu
from simulator.lowering import lower

CARD = find_gpu("h200")


def _names() -> list[str]:
    """The cases' names, from the first bytes of each line."""
    found: list[str] = []
    with gzip.open(MEASUREMENTS / "h200_sxm" / "recordings.jsonl.gz", "rt") as lines:
        for line in lines:
            if line.startswith('{"case": {') or line.startswith('{"case":{'):
                case, _ = json.JSONDecoder().raw_decode(line, line.index("{", 1))
                found.append(case["name"])
    return found


NAMES = _names()

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



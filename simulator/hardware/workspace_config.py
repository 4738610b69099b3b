"""The host's work for each matrix product while CUBLAS_WORKSPACE_CONFIG is set.

PyTorch parses the variable with a regular expression in every call (`parseChosenWorkspaceSize`,
ATen/cuda/CUDABlas.cpp), and more than once for a product with a bias.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.records import Trace

_PRODUCT_S, _BIASED_S = 53e-6, 150e-6
"""Seconds that a call takes longer on the default host. On an H200's machine whose dispatcher was
1.2 times as fast, mm went from 10.2 to 54.2 µs, bmm from 16.5 to 60.1 µs and addmm from 13.9 to
138.6 µs (`h200_sxm/package_settings.jsonl` in the calibration's measurements)."""
_BIASED = ("addmm", "addmm_", "_addmm_activation")
_PLAIN = ("mm", "bmm", "baddbmm", "baddbmm_", "addbmm", "addbmm_", "_scaled_mm")


def workspace_parsing_s(trace: Trace, host: Host) -> NDArray[np.float64]:
    """Additional seconds of each op [ops], at the speed of the host's dispatcher; zeros if the
    variable is not set."""
    if not trace.workspace_configured:
        return np.zeros(len(trace.ops))
    signatures, rows = trace.signatures
    names = [signature.name.split(".")[1] for signature in signatures]
    each = [_BIASED_S if n in _BIASED else _PRODUCT_S if n in _PLAIN else 0.0 for n in names]
    return np.array(each, np.float64)[rows] * (host.seconds["op"] / find_host().seconds["op"])

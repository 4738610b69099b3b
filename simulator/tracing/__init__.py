"""Trace a network: the ops that a GPU build of PyTorch would dispatch, without a GPU.

May import torch, hardware and records. Raises InputError when imported without torch.
"""

import sys
from importlib.util import find_spec

from simulator.errors import InputError

if find_spec("torch") is None and getattr(sys, "frozen", False):  # a bundle takes no packages
    raise InputError(
        "this step must be traced, which needs torch, and this bundle does not contain torch: "
        "expected a saved trace, or a network of `ridgepoint networks` with its own sizes; for "
        'other steps: pip install "ridgepoint[gui]"'
    )
if find_spec("torch") is None:
    raise InputError(
        "torch is not installed, and this step must be traced: expected torch, a saved trace, or a "
        'network of `ridgepoint networks` with its own sizes; pip install "torch>=2.11,<2.14"'
    )

from simulator.tracing.calls import trace_call
from simulator.tracing.step import trace

__all__ = ["trace", "trace_call"]

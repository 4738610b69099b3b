"""Convolutions that were drawn at random after their rules had been written, as an H100 ran them.

No fit uses them, and the profile is that of the H200.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from calibration.record.library_samples import Swept, of_file
from calibration.validate.single_ops import ratios
from simulator.hardware.gpu import gpu
from simulator.timing.profile import profile

H100 = gpu("h100")


@cache
def drawn() -> dict[str, list[Swept]]:
    """The calls by kind: images of one pixel; first layers in channels last; and shallow patches
    with few columns, in half precision."""
    calls: dict[str, list[Swept]] = {"pixels": [], "first": [], "shallow": []}
    for each in of_file("drawn_layers", H100):
        params = each.point.params
        kind = "first" if params["last"] else "pixels" if params["dtype"] == "fp32" else "shallow"
        calls[kind].append(each)
    return calls


@pytest.mark.parametrize(
    ("kind", "of", "as_many", "error"),
    [("pixels", 59, 50, 0.09), ("first", 60, 38, 0.17), ("shallow", 60, 49, 0.08)],
)
def test_layers_run_as_many_kernels_and_take_as_long(
    kind: str, of: int, as_many: int, error: float
) -> None:
    """Before the rules existed, 9, 18 and 16 of them had the right number of kernels, and the
    median errors were 24, 22 and 35%."""
    calls = drawn()[kind]
    assert len(calls) == of
    assert sum(len(each.launches) == len(each.kernels) for each in calls) >= as_many
    ratio = np.array([ratios(each, H100, profile())["warm"] for each in calls])
    assert np.median(np.abs(ratio - 1)) < error

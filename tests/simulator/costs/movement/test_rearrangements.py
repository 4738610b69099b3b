"""Shuffled channels and pixels, and repeated elements, as copies of views."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import Spec, launched, sig

F32 = "float32"


def copied(name: str, out: Spec, args: dict[str, Any], x: Spec) -> Work:
    (work,) = launched(sig(f"aten.{name}.default", out, None, args, self=x))
    return work


@pytest.mark.parametrize(("groups", "launches"), [(4, 1), (1, 0), (32, 0)])
def test_groups_and_their_channels_change_places(groups: int, launches: int) -> None:
    x = ((2, 32, 14, 14), F32)
    works = launched(sig("aten.channel_shuffle.default", x, None, {"groups": groups}, self=x))
    assert len(works) == launches
    for work in works:
        # images, groups, channels of a group, and 196 pixels
        assert (work.family, work.dims["axes"], work.dims["inner"]) == ("copy", 4, 196)
        assert work.bytes == 2 * 2 * 32 * 196 * 4


def test_channels_become_pixels() -> None:
    small, large = ((2, 32, 14, 14), F32), ((2, 8, 28, 28), F32)
    shuffled = copied("pixel_shuffle", large, {"upscale_factor": 2}, small)
    # the two pixels beside each other come from channels that are 196 numbers apart
    assert (shuffled.dims["axes"], shuffled.dims["inner"]) == (5, 2)
    assert shuffled.dims["step_bytes"] == 196 * 4
    back = copied("pixel_unshuffle", small, {"downscale_factor": 2}, large)
    # a row of 14 pixels comes from every second one
    assert (back.dims["inner"], back.dims["step_bytes"], back.bytes) == (14, 8, shuffled.bytes)


def test_repeated_rows_are_read_once() -> None:
    work = copied("repeat", ((80, 180), F32), {"repeats": [2, 3]}, ((40, 60), F32))
    assert (work.read_bytes, work.write_bytes) == (9600, 6 * 9600)
    # times and sizes of both dimensions
    assert (work.dims["axes"], work.dims["inner"]) == (4, 60)
    new = copied("repeat", ((5, 40, 60), F32), {"repeats": [5, 1, 1]}, ((40, 60), F32))
    assert (new.dims["axes"], new.dims["inner"]) == (2, 2400)
    assert copied("repeat", ((40, 60), F32), {"repeats": [1, 1]}, ((40, 60), F32)).family == (
        "memcpy"
    )


def test_channels_last_are_shuffled_in_their_order() -> None:
    last = Tensor((2, 32, 14, 14), F32, (6272, 1, 448, 32))
    work = copied("pixel_shuffle", ((2, 8, 28, 28), F32), {"upscale_factor": 2}, last)
    assert work.dims["step_bytes"] == 4

"""Images whose elements lie in the same order in row-major and in channels-last layout."""

from __future__ import annotations

import pytest
import torch

from simulator.lowering.layouts import _has_layout  # pyright: ignore[reportPrivateUsage]
from simulator.records import Tensor


@pytest.mark.parametrize("shape", [
    (8, 64, 16, 16), (8, 64, 16, 1), (8, 64, 1, 16), (8, 64, 1, 1), (8, 1, 16, 16), (1, 64, 2, 2),
    (8, 2, 1, 2),
])  # fmt: skip
@pytest.mark.parametrize("last", [False, True])
def test_a_layout_is_that_which_torch_sees(shape: tuple[int, ...], last: bool) -> None:
    memory = torch.channels_last if last else torch.contiguous_format
    image = torch.zeros(shape).contiguous(memory_format=memory)
    tensor = Tensor(shape, "float32", image.stride())
    assert _has_layout(tensor, True) is image.is_contiguous(memory_format=torch.channels_last)
    assert _has_layout(tensor, False) is image.is_contiguous()

"""Calls that are checked: their output holds invalid values before the last run."""

from __future__ import annotations

from typing import cast

import torch

from calibration.sweeps.registry import Call

_INVALID = 12345


def rerun(call: Call) -> tuple[torch.Tensor, ...]:
    """Fill the call's output with invalid values, run the call and return its tensors."""
    result = call()
    assert isinstance(result, tuple)
    tensors = cast(tuple[torch.Tensor, ...], result)
    torch.fill_(tensors[-1], _INVALID)
    call()
    return tensors

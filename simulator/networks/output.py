"""The output of a network in training."""

from typing import NamedTuple

from torch import Tensor


class Output(NamedTuple):
    """Logits of any shape, and the scalar loss where a training step starts its backward pass."""

    logits: Tensor
    loss: Tensor

"""The output of a network in training."""

from typing import NamedTuple

from torch import Tensor


class Output(NamedTuple):
    """Logits of any shape, and the scalar loss a training step starts its backward from."""

    logits: Tensor
    loss: Tensor

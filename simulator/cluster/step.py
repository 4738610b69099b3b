"""A network's step that is spread over a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class NetworkStep:
    """A step of a network; `batch` is the batch of one data-parallel replica, which is a GPU, a
    tensor-parallel group or a pipeline."""

    network: str
    batch: int | None = None
    seq: int | None = None
    dtype: str = "fp32"
    training: bool = False
    optimizer: str | None = "adamw"
    sizes: Mapping[str, Any] = field(default_factory=dict[str, Any])

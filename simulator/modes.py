"""Modes of a step: how its kernels are launched, and whether torch.compile fused them.

`compiled` is torch.compile with its defaults; `reduce-overhead`, `max-autotune` and
`max-autotune-no-cudagraphs` are its modes (`list_mode_options` of torch/_inductor).
"""

from __future__ import annotations

from typing import Literal, get_args

from simulator.errors import InputError

Mode = Literal[
    "eager",
    "cuda_graph",
    "compiled",
    "reduce-overhead",
    "max-autotune",
    "max-autotune-no-cudagraphs",
]
MODES: tuple[Mode, ...] = get_args(Mode)


def check_mode(mode: str) -> None:
    """Raise InputError if the mode is unknown."""
    if mode not in MODES:
        raise InputError(f"unknown mode {mode!r}: expected one of {', '.join(map(repr, MODES))}")


def compiles(mode: str) -> bool:
    """Whether torch.compile fuses the step in this mode."""
    return mode not in ("eager", "cuda_graph")


def replays(mode: str) -> bool:
    """Whether torch.compile captures its kernels in CUDA graphs and replays these in each call."""
    return mode in ("reduce-overhead", "max-autotune")


def autotunes(mode: str) -> bool:
    """Whether torch.compile also tries its own templates for matrix products."""
    return mode.startswith("max-autotune")


Run = Literal["eager", "captured", "compiled"]
"""How a step's code runs: op by op, under CUDA graph capture, or traced by Dynamo."""


def run_of(mode: str, fused: bool = False) -> Run:
    """How the code runs in a mode; with `fused`, as compiled code whatever the mode."""
    if fused or compiles(mode):
        return "compiled"
    return "captured" if mode == "cuda_graph" else "eager"

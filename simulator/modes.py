"""How a step runs: what launches its kernels, and whether torch.compile fused them.

`compiled` is torch.compile as it is by default; `reduce-overhead`, `max-autotune` and
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
    """Raises InputError if the mode is unknown."""
    if mode not in MODES:
        raise InputError(f"unknown mode {mode!r}: expected one of {', '.join(map(repr, MODES))}")


def compiles(mode: str) -> bool:
    """Does torch.compile fuse the step in this mode?"""
    return mode not in ("eager", "cuda_graph")


def replays(mode: str) -> bool:
    """Does torch.compile capture its kernels in CUDA graphs, which each call replays?"""
    return mode in ("reduce-overhead", "max-autotune")


def autotunes(mode: str) -> bool:
    """Does torch.compile also try its own templates for matrix products?"""
    return mode.startswith("max-autotune")


Run = Literal["eager", "captured", "compiled"]
"""How a step's own code runs: op by op, while a CUDA graph is captured, or traced by Dynamo."""


def run_of(mode: str, fused: bool = False) -> Run:
    """How the code runs in a mode; `fused` if its kernels are fused in any mode."""
    if fused or compiles(mode):
        return "compiled"
    return "captured" if mode == "cuda_graph" else "eager"

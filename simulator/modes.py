"""How a step is run: who issues its kernels, and what was compiled before.

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
    """InputError for a mode that is none."""
    if mode not in MODES:
        raise InputError(f"unknown mode {mode!r}: expected one of {', '.join(map(repr, MODES))}")


def compiles(mode: str) -> bool:
    """Does torch.compile fuse the step in this mode?"""
    return mode not in ("eager", "cuda_graph")


def replays(mode: str) -> bool:
    """Does torch.compile capture what it compiled in CUDA graphs, which each call replays?"""
    return mode in ("reduce-overhead", "max-autotune")


def autotunes(mode: str) -> bool:
    """Does torch.compile choose products from templates of its own besides the library's?"""
    return mode.startswith("max-autotune")


Run = Literal["eager", "captured", "compiled"]
"""How a step's own code runs: op by op, while a CUDA graph is captured, or traced by Dynamo."""


def run_of(mode: str, fused: bool = False) -> Run:
    """How the code runs in a mode; `fused` where its kernels are fused whatever the mode."""
    if fused or compiles(mode):
        return "compiled"
    return "captured" if mode == "cuda_graph" else "eager"

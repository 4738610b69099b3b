"""The settings of the partition rule by fusion level. Some levels imitate other compilers, as far
as their behaviour is published:
xla       loops fuse into the reduction that reads them, but nothing follows a reduction in its
          kernel; siblings fuse (multi-output fusion); products are library calls ("Operator Fusion
          in XLA: Analysis and Evaluation", Snider and Liang, 2023)
nvfuser   loops and reductions of one iteration space, normalisations in one kernel, siblings;
          products are library calls (NVIDIA/Fuser, "Getting started")
tensorrt  loops fuse with each other and into the epilogue of the product or convolution before
          them; reductions and norms are separate kernels ("Types of fusions", TensorRT developer
          guide); inference only
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.modes import autotunes, compiles

Level = Literal[
    "none",
    "pointwise",
    "pointwise+reductions",
    "compiled",
    "max-autotune",
    "xla",
    "nvfuser",
    "tensorrt",
]
LEVELS: tuple[Level, ...] = ("none", "pointwise", "pointwise+reductions", "compiled")
WHOLE: tuple[Level, ...] = ("compiled", "max-autotune")
"""The levels at which torch.compile itself fuses."""


@dataclass(frozen=True)
class Rule:
    """`reductions` fuse with the loops before them, and with loops after them if `after`.
    `siblings`, which only read the same memory, share a kernel. Products have loops as `epilogues`,
    or only if a Triton template with an epilogue is faster (`templates`). `inductor` pads products
    and chooses channels last. `training` steps can be compiled."""

    reductions: bool = True
    after: bool = True
    siblings: bool = True
    epilogues: bool = False
    templates: bool = False
    inductor: bool = False
    training: bool = True


RULES: dict[Level, Rule] = {
    "pointwise": Rule(reductions=False, siblings=False, inductor=True),
    "pointwise+reductions": Rule(siblings=False, inductor=True),
    "compiled": Rule(inductor=True),
    "max-autotune": Rule(inductor=True, templates=True),
    "xla": Rule(after=False),
    "nvfuser": Rule(),
    "tensorrt": Rule(reductions=False, siblings=False, epilogues=True, training=False),
}
"""The rule of every level except "none", which changes nothing."""

LIKE: dict[Level, str] = {"xla": "XLA", "nvfuser": "nvFuser", "tensorrt": "TensorRT"}
"""The compilers that the levels imitate."""


def level_of(mode: str) -> Level:
    """The fusion level that a mode (`simulator.modes`) implies."""
    if not compiles(mode):
        return "none"
    return "max-autotune" if autotunes(mode) else "compiled"

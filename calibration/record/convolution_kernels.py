"""The algorithm of a convolution from a kernel's name, compared with the lowered one. cuDNN selects
by heuristics, and for one convolution in seven its algorithm is not the lowered one. The time of
such a kernel does not describe the predicted one, so the sample is left out of the fit.
"""

from __future__ import annotations

import re

from simulator.costs import Work

_PRODUCT = re.compile(
    r"nvjet|xmma_gemm|cutlass(?!.*cudnn)(?!.*(fprop|dgrad|wgrad)).*gemm|gemmSN|gemv|sgemm_largek"
)
_FIRST = re.compile(r"first_layer|wo_smem")
_LANES = re.compile(r"xmma_(fprop|dgrad|wgrad)\w*f32f32_f32f32_f32")
_IMPLICIT = re.compile(r"implicit_gemm|cutlass_tensorop|ImplicitGemm")


def algorithm(kernel: str) -> str:
    """The algorithm of a kernel by its name: a plain "product", an "implicit" one on tensor cores,
    one for a "first" layer with few channels, or a "direct" one on vector lanes."""
    if _PRODUCT.search(kernel):
        return "product"
    if _FIRST.search(kernel):
        return "first"
    if _IMPLICIT.search(kernel) and not _LANES.search(kernel):
        return "implicit"
    return "direct"


def lowered_algorithms(work: Work) -> tuple[str, ...]:
    """The algorithms that may run a lowered convolution with dense channels; empty if any algorithm
    may. For direct convolutions, for first layers, for large filters, and for gradients of rows
    that 16-byte loads cannot fetch, cuDNN uses one of several algorithms; no rule for its choice
    is known."""
    variant, direction = work.dims.get("variant"), work.dims["direction"]
    if work.dims["depthwise"] or variant == "fwd_first":
        return ()
    if variant is None:
        return ("implicit",)
    if variant in (f"{direction}_first", f"{direction}_image"):
        return ("first", "implicit")
    return ("product",) if variant in ("fwd_plain", "fwd_narrow") else ()


def runs_as_lowered(work: Work, kernel: str) -> bool:
    """Whether a kernel of this name runs the algorithm to which a convolution was lowered."""
    expected = lowered_algorithms(work) if work.family == "conv" else ()
    return not expected or algorithm(kernel) in expected

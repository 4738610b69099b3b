"""Fused Triton kernels, one file per variant; importing the package registers them all.

May import sweeps, torch and Triton.
"""

from calibration.fused import (
    adamw,
    add_layer_norm,
    bias_gelu,
    cross_entropy,
    dropout_add,
    flash_attention,
    gemm_gelu,
    pointwise_chain,
    rms_norm,
    rotary,
    softmax,
    swiglu,
)
from calibration.fused.variant import VARIANTS, Traffic, Variant

__all__ = [
    "VARIANTS", "Traffic", "Variant", "adamw", "add_layer_norm", "bias_gelu", "cross_entropy",
    "dropout_add", "flash_attention", "gemm_gelu", "pointwise_chain", "rms_norm", "rotary",
    "softmax", "swiglu",
]  # fmt: skip

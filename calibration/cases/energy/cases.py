"""Cases of the energy measurement: kernels of each class, mixtures of two kernels, whole steps.

Each kernel case states the work of one iteration: FLOPs by unit, special functions, bytes from and
to DRAM, bytes from and to L2, and launches. Operands are normal random numbers. One case uses
zeros, to show how much less power zeros draw.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F

from calibration.cases.case import Case, Step
from calibration.cases.energy.kernels import (
    CHAIN_ELEMENTS,
    MIB,
    Call,
    Make,
    attention,
    by_turns,
    chain,
    convolution,
    copy,
    cosines,
    decode,
    interleaved,
    pause,
    pointwise,
    product,
)


@dataclass(frozen=True)
class EnergyCase:
    """`make(device, shrink)` prepares the operands and returns the call of one iteration. Sizes are
    divided by `shrink` on a host without a GPU. `work` is the work of a call on a GPU."""

    name: str
    make: Make
    work: dict[str, float] = field(default_factory=dict[str, float])
    step: Case | None = None
    graph: bool = False

    @property
    def captured(self) -> bool:
        """Whether the case is replayed as a CUDA graph, without host time. Kernels are replayed,
        and so are the steps whose `graph` is True."""
        return self.graph or (self.step is None and not self.name.endswith("/eager"))


def _product_case(dtype: str, m: int, n: int, k: int, data: str = "normal") -> EnergyCase:
    bytes_each = {"fp8": 1, "fp32": 4, "tf32": 4, "fp64": 8}.get(dtype, 2)
    work = {
        ("vector_flops_fp32" if dtype == "fp32" else f"tensor_flops_{dtype}"): 2.0 * m * n * k,
        "dram_bytes": float((m * k + k * n) * bytes_each + m * n * max(bytes_each, 2)),
        "launches": 1,
    }
    name = f"product/{dtype}/{m}x{n}x{k}" + ("" if data == "normal" else f"/{data}")
    return EnergyCase(name, lambda _, s: product(dtype, m, n, k, data, s), work)


def _step(
    network: str,
    precision: str,
    phase: str,
    batch: int,
    seq: int = 0,
    by: str | None = None,
    **sizes: Any,
) -> EnergyCase:
    case = Case(network, precision, phase, batch, seq, by, sizes)

    def make(device: str, shrink: int) -> Call:
        if shrink > 1:
            raise ValueError("a whole step is not run without a GPU")
        return Step(case, device)

    return EnergyCase(f"step/{case.name}", make, step=case)


def _bytes(mib: float, **more: float) -> dict[str, float]:
    return {"dram_bytes": mib * MIB, "launches": 1, **more}


_LARGE = 2.0 * 8192**3
_MEDIUM = 2.0 * 4096**3
_CHAINED = float(CHAIN_ELEMENTS * 1024)

CASES: tuple[EnergyCase, ...] = (
    _product_case("bf16", 8192, 8192, 8192),
    EnergyCase("copy/1024MiB", lambda _, s: copy(1024, s), _bytes(2048)),
    EnergyCase("pause", lambda device, _: pause(2_000_000, device), {"launches": 1}),
    _product_case("fp32", 8192, 8192, 8192),
    EnergyCase("copy/8MiB", lambda _, s: copy(8, s), {"l2_bytes": 16.0 * MIB, "launches": 1}),
    EnergyCase("chain/multiply_adds", chain("multiply_adds"),
               {"vector_flops_fp32": 2 * _CHAINED, "l2_bytes": 32.0 * MIB, "launches": 1}),
    EnergyCase("mixture/product+copy", interleaved(8192, 3072),
               {"tensor_flops_bf16": _LARGE, "dram_bytes": 6144.0 * MIB, "launches": 4}),
    EnergyCase("mixture/product+pause/half", interleaved(4096, 0, 300_000),
               {"tensor_flops_bf16": _MEDIUM, "launches": 2}),
    _product_case("fp16", 8192, 8192, 8192),
    _step("gpt2", "autocast", "training", 16, 1024, "adamw_fused"),
    _step("bert-large", "fp16", "inference", 32, 512),
    _product_case("bf16", 4096, 4096, 4096),
    EnergyCase("chain/exponentials", chain("exponentials"),
               {"special_functions": _CHAINED, "vector_flops_fp32": _CHAINED,
                "l2_bytes": 32.0 * MIB, "launches": 1}),
    EnergyCase("attention/bf16", attention,
               {"tensor_flops_bf16": 4.0 * 8 * 32 * 4096**2 * 128,
                "special_functions": 8.0 * 32 * 4096**2, "dram_bytes": 1024.0 * MIB,
                "launches": 1}),
    EnergyCase("convolution/fp16", convolution,
               {"tensor_flops_fp16": 2.0 * 64 * 56 * 56 * 256 * 256 * 9,
                "dram_bytes": 2.0 * 64 * 56 * 56 * 256 * 2, "launches": 1}),
    _step("resnet50", "autocast", "training", 128, 0, "sgd"),
    _step("llama3-1b", "bf16", "inference", 8, 2048),
    _product_case("bf16", 8192, 8192, 8192, "zeros"),
    _product_case("bf16", 8192, 8192, 8192, "relu"),
    EnergyCase("mixture/product+pause/fifth", interleaved(4096, 0, 75_000),
               {"tensor_flops_bf16": _MEDIUM, "launches": 2}),
    _product_case("tf32", 8192, 8192, 8192),
    _product_case("fp8", 8192, 8192, 8192),
    EnergyCase("layer_norm/bf16", pointwise(
        lambda x: F.layer_norm(x, (1024,)), 512, torch.bfloat16), _bytes(1024)),
    EnergyCase("softmax/bf16", pointwise(
        lambda x: F.softmax(x, 1), 512, torch.bfloat16), _bytes(1024)),
    EnergyCase("launches", pointwise(lambda x: x.add_(1.0), 1, torch.float32),
               {"l2_bytes": 2.0 * MIB, "launches": 1}),
    EnergyCase("sum/1024MiB", pointwise(torch.sum, 1024, torch.float32), _bytes(1024)),
    EnergyCase("mixture/product+pause/third", interleaved(4096, 0, 150_000),
               {"tensor_flops_bf16": _MEDIUM, "launches": 2}),
    _product_case("bf16", 16, 8192, 8192),
    EnergyCase("mixture/by_turns", by_turns,
               {"tensor_flops_bf16": 80 * _LARGE, "dram_bytes": 240 * 2048.0 * MIB,
                "launches": 320}),
    _step("llama3-1b", "bf16", "training", 4, 1024, "adamw_fused"),
    _step("vit-b16", "autocast", "training", 128, 0, "adamw_fused"),
    _step("resnet50", "fp32", "training", 64, 0, "sgd"),
    _step("llama3-1b-decode", "bf16", "inference", 64, 4096),
    EnergyCase("gelu/bf16", pointwise(F.gelu, 512, torch.bfloat16), _bytes(1024)),
    EnergyCase("fill/1024MiB", pointwise(lambda x: x.zero_(), 1024, torch.float32), _bytes(1024)),
    _product_case("bf16", 2048, 2048, 2048),
    _product_case("fp16", 65536, 256, 256),
    _step("unet", "fp16", "inference", 8),
    _step("bert-base", "fp32", "training", 16, 512, "adamw_fused"),
    _step("convnext-t", "autocast", "training", 64, 0, "adamw_fused"),
    EnergyCase("mixture/fp32+copy", interleaved(4096, 2048, dtype="fp32"),
               {"vector_flops_fp32": _MEDIUM, "dram_bytes": 4096.0 * MIB, "launches": 3}),
    _product_case("fp64", 8192, 8192, 8192),
    EnergyCase("launches/eager", pointwise(lambda x: x.add_(1.0), 1, torch.float32),
               {"l2_bytes": 2.0 * MIB, "launches": 1}),
    _product_case("fp32", 4096, 4096, 4096),
    _step("swin-t", "autocast", "training", 64, 0, "adamw_fused"),
    _step("mlp-wide", "bf16", "training", 4096, 0, "sgd"),
    EnergyCase("cosine/fp32", pointwise(torch.cos, 1024, torch.float32), _bytes(2048)),
    EnergyCase("cosine/bf16", pointwise(torch.cos, 512, torch.bfloat16), _bytes(1024)),
    EnergyCase("exponential/fp32", pointwise(torch.exp, 1024, torch.float32), _bytes(2048)),
    EnergyCase("relu/fp32", pointwise(torch.relu, 1024, torch.float32), _bytes(2048)),
    EnergyCase("relu/bf16", pointwise(torch.relu, 512, torch.bfloat16), _bytes(1024)),
    EnergyCase("sum/256MiB", pointwise(torch.sum, 256, torch.float32), _bytes(256)),
    EnergyCase("layer_norm/fp32", pointwise(
        lambda x: F.layer_norm(x, (1024,)), 1024, torch.float32), _bytes(2048)),
    EnergyCase("cosine/8MiB", pointwise(torch.cos, 8, torch.float32),
               {"l2_bytes": 16.0 * MIB, "launches": 1}),
    *(EnergyCase(f"cosines/{n}", cosines(n), _bytes(512)) for n in (1, 2, 4, 8, 16)),
    _product_case("bf16", 64, 28672, 4096),
    EnergyCase("attention/decode", decode, _bytes(256)),
)  # fmt: skip
"""Most useful for the fit first, in case a run ends early."""

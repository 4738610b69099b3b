"""Whole steps whose energy is measured: networks from transformers and timm, in the sizes at which
they were timed, and networks of the catalogue."""

from __future__ import annotations

from hashlib import sha256

from calibration.cases.case import Case, Step, infer, train
from calibration.cases.energy.cases import EnergyCase
from calibration.cases.energy.kernels import Call
from calibration.cases.steps.packages import PACKAGES

_CATALOGUE = (
    *infer("bert-base", "bf16", 64, 512),
    *infer("bert-large", "fp32", 8, 128),
    *infer("gpt2", "fp16", 8, 1024),
    *infer("gpt2-xl", "bf16", 4, 512),
    *infer("llama3-8b", "bf16", 1, 4096),
    *infer("llama3-8b-decode", "bf16", 8, 2048),
    *infer("vit-l16", "fp16", 64),
    *infer("resnet50", "fp16 fp32", 128),
    *infer("mobilenet-v2", "fp16", 32),
    *infer("convnext-t", "bf16", 128),
    *infer("swin-t", "fp16", 16),
    *infer("unet", "fp32", 4),
    *infer("dit-xl", "fp16", 8),
    *infer("whisper-encoder", "fp16", 8, 3000),
    *infer("t5-base", "bf16", 16, 512),
    *infer("mamba2-130m", "bf16", 8, 1024),
    *infer("mlp-wide", "fp16", 8192),
    *infer("lstm", "fp16", 64, 128),
    *infer("mlp-tiny", "fp32", 64),
    *train("bert-base", "autocast fp32", 32, 128),
    *train("gpt2", "bf16", 8, 512, "adamw_fused"),
    *train("llama3-1b", "bf16", 2, 2048, "adamw"),
    *train("vit-b16", "fp32", 32, 0, "sgd"),
    *train("resnet18", "autocast", 256, 0, "sgd"),
    *train("convnext-t", "fp32", 32),
    *train("dit-xl", "autocast", 8),
    *train("mlp-wide", "fp32", 1024, 0, "sgd"),
)


def _energy_case(case: Case, graph: bool) -> EnergyCase:
    def make(device: str, shrink: int) -> Call:
        if shrink > 1:
            raise ValueError("a whole step is not run without a GPU")
        return Step(case, device)

    name = f"step/{case.name}" + ("/cuda_graph" if graph else "")
    return EnergyCase(name, make, step=case, graph=graph)


def _digest(case: Case) -> bytes:
    return sha256(case.name.encode()).digest()


_WAITING = ("hf-swinv2", "hf-bloom", "hf-deberta", "hf-bart", "timm:edgenext")
"""Name prefixes of networks that a graph cannot capture because they wait for the GPU."""


def _captured(case: Case) -> bool:
    even = _digest(case)[1] % 2 == 0
    return even and case.phase == "inference" and not case.network.startswith(_WAITING)


ENERGY_STEPS: tuple[EnergyCase, ...] = tuple(
    _energy_case(case, _captured(case)) for case in sorted([*PACKAGES, *_CATALOGUE], key=_digest)
)
"""Half of the inference steps run as CUDA graphs. The order comes from a hash, so a run that ends
early has a mixture of all steps."""


def is_fitted(name: str) -> bool:
    """Whether a step is in the fit of energies. The hash of the name selects half of the steps."""
    return int(sha256(f"half {name}".encode()).hexdigest()[0], 16) % 2 == 0

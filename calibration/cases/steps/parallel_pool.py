"""A pool of steps over several GPUs. A hash draws the measured ones, so that nobody chooses them.

The drawn steps are those of `calibration.cases.steps.parallel` from `FIRST_DRAWN` on.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import product

from calibration.cases.case import Case
from calibration.cases.steps.parallel import FIRST_DRAWN, MEDIUM, STEPS, ParallelStep

SEED = "several GPUs, third set"
COUNTS = {"ddp": 8, "fsdp": 7, "tensor": 8, "pipeline": 4, "experts": 3}
"""The number of drawn steps by kind of split."""

_TRAINED = {
    "gpt2": ((4, 8, 16), (256, 512, 1024)),
    "bert-base": ((8, 16, 32), (128, 256, 512)),
    "bert-large": ((4, 8, 16), (128, 256)),
    "vit-b16": ((32, 96), (0,)),
    "vit-l16": ((16, 32), (0,)),
    "convnext-t": ((32, 128), (0,)),
    "llama3-1b": ((1, 2), (512, 1024, 3072)),
    "t5-base": ((4, 8), (128, 512)),
    "resnet50": ((32, 96), (0,)),
    "mlp-wide": ((256, 2048, 8192), (0,)),
}
"""Batches and lengths of each network."""


def drawn() -> list[ParallelStep]:
    """The steps of each kind with the smallest hashes; for DDP and FSDP2, one of each network."""
    every = sorted(_pool(), key=_hash)
    each: list[ParallelStep] = []
    for how, count in COUNTS.items():
        of_kind = [step for step in every if step.how == how]
        if how in ("ddp", "fsdp"):
            of_kind = list({step.case.network: step for step in reversed(of_kind)}.values())
            of_kind.sort(key=_hash)
        each += of_kind[:count]
    return each


def _hash(step: ParallelStep) -> str:
    return sha256(f"{SEED} {step.name}".encode()).hexdigest()


def _pool() -> Iterator[ParallelStep]:
    known = {step.name for step in STEPS[:FIRST_DRAWN]}
    yield from (step for step in _every() if step.name not in known)


def _every() -> Iterator[ParallelStep]:
    for network, sizes in _TRAINED.items():
        for (batch, seq), precision in product(product(*sizes), ("autocast", "bf16")):
            for optimizer in ("adamw", "sgd"):
                case = Case(network, precision, "training", batch, seq, optimizer)
                yield ParallelStep("ddp", case)
                if optimizer == "adamw" and network not in ("resnet50", "mlp-wide"):
                    yield ParallelStep("fsdp", case)
    for network, batch, seq in product(("llama3-1b", "llama3-8b"), (1, 2, 6), (64, 256, 768, 1536)):
        yield ParallelStep("tensor", Case(network, "bf16", "inference", batch, seq))
    for network, batch, seq, graph in product(
        ("llama3-1b-decode", "llama3-8b-decode"), (8, 32), (512, 3072), (False, True)
    ):
        yield ParallelStep("tensor", Case(network, "bf16", "inference", batch, seq), graph=graph)
    for network, each, seq, microbatches in product(
        ("gpt2", "gpt2-medium", "gpt2-xl", "vit-b16"), (1, 2, 4), (256, 768), (4, 6)
    ):
        name, sizes = ("gpt2", MEDIUM) if network == "gpt2-medium" else (network, {})
        batch = each * microbatches
        yield ParallelStep(
            "pipeline", Case(name, "bf16", "training", batch, seq, None, sizes), microbatches
        )
    for batch, precision in product((256, 1024, 2048, 4096, 16384), ("bf16", "fp32")):
        yield ParallelStep("experts", Case("mlp-wide", precision, "inference", batch))

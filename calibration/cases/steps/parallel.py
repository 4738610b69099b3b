"""The measured steps over several GPUs, each compared with the same step on one GPU.

Add steps only at the end, since a measurement refers to a step by its index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibration.cases.case import Case

MEDIUM: dict[str, Any] = {"width": 1024, "layers": 24, "heads": 16}
"""GPT-2 medium, 355M weights."""


@dataclass(frozen=True)
class ParallelStep:
    """A step and its split over all GPUs.

    how           "ddp" and "fsdp" (the case's batch on each GPU), "tensor", "pipeline" (1F1B), or
                  "experts" (an all-to-all before and after each linear layer)
    microbatches  number of micro-batches of a pipeline
    graph         the step is captured in a CUDA graph and replayed
    """

    how: str
    case: Case
    microbatches: int = 4
    graph: bool = False

    @property
    def name(self) -> str:
        """A short unique name, such as `pipeline/8 gpt2-xl/bf16/training/b8s512`."""
        how = f"{self.how}/{self.microbatches}" if self.how == "pipeline" else self.how
        return f"{how}{'/graph' if self.graph else ''} {self.case.name}"

    def record(self) -> dict[str, Any]:
        return {
            "how": self.how,
            "case": self.case.record(),
            "microbatches": self.microbatches,
            "graph": self.graph,
        }


def parallel_step(row: dict[str, Any]) -> ParallelStep:
    """The step of a measured row."""
    fields = {name: value for name, value in row["case"].items() if name != "name"}
    return ParallelStep(
        row["how"], Case(**fields), row.get("microbatches", 4), row.get("graph", False)
    )


FIRST_DRAWN = 48
"""The index of the first step that `parallel_pool` has drawn."""

STEPS = (
    ParallelStep("ddp", Case("gpt2", "autocast", "training", 8, 1024, "adamw")),
    ParallelStep("fsdp", Case("gpt2", "autocast", "training", 8, 1024, "adamw")),
    ParallelStep("ddp", Case("resnet50", "autocast", "training", 64, 0, "sgd")),
    ParallelStep("fsdp", Case("llama3-1b", "bf16", "training", 1, 2048, "adamw")),
    ParallelStep("tensor", Case("llama3-1b", "bf16", "inference", 4, 1024)),
    ParallelStep("pipeline", Case("gpt2-xl", "bf16", "training", 8, 512)),
    ParallelStep("ddp", Case("bert-base", "fp32", "training", 16, 128, "adamw")),
    ParallelStep("fsdp", Case("gpt2-xl", "bf16", "training", 2, 1024, "adamw")),
    ParallelStep("ddp", Case("mlp-wide", "bf16", "training", 1024, 0, "sgd")),
    ParallelStep("ddp", Case("vit-b16", "autocast", "training", 64, 0, "adamw")),
    ParallelStep("ddp", Case("mlp-tiny", "fp32", "training", 32, 0, "sgd")),
    ParallelStep("tensor", Case("llama3-1b", "bf16", "inference", 1, 128)),
    # no fit uses steps from 12 on
    ParallelStep("ddp", Case("bert-large", "autocast", "training", 8, 512, "adamw")),
    ParallelStep("fsdp", Case("llama3-1b", "bf16", "training", 1, 4096, "adamw")),
    ParallelStep("tensor", Case("llama3-8b", "bf16", "inference", 1, 2048)),
    ParallelStep("pipeline", Case("gpt2-xl", "bf16", "training", 32, 1024), 8),
    ParallelStep("ddp", Case("resnet50", "autocast", "training", 128, 0, "sgd")),
    ParallelStep("fsdp", Case("vit-l16", "autocast", "training", 64, 0, "adamw")),
    ParallelStep("tensor", Case("llama3-8b-decode", "bf16", "inference", 16, 2048), graph=True),
    ParallelStep("pipeline", Case("gpt2-xl", "bf16", "training", 16, 512), 4),
    ParallelStep("pipeline", Case("gpt2-xl", "bf16", "training", 16, 512), 8),
    ParallelStep("pipeline", Case("gpt2-xl", "bf16", "training", 16, 512), 16),
    ParallelStep("ddp", Case("gpt2", "autocast", "training", 4, 1024, "adamw", MEDIUM)),
    ParallelStep("fsdp", Case("bert-large", "autocast", "training", 16, 256, "adamw")),
    ParallelStep("tensor", Case("llama3-8b-decode", "bf16", "inference", 16, 2048)),
    ParallelStep("tensor", Case("llama3-1b-decode", "bf16", "inference", 64, 1024), graph=True),
    ParallelStep("ddp", Case("vit-b16", "bf16", "training", 128, 0, "adamw")),
    ParallelStep("experts", Case("mlp-wide", "bf16", "inference", 8192)),
    ParallelStep("tensor", Case("llama3-1b", "bf16", "inference", 2, 2048)),
    ParallelStep("tensor", Case("llama3-1b", "bf16", "inference", 1, 512), graph=True),
    ParallelStep("pipeline", Case("vit-l16", "bf16", "training", 128, 197), 8),
    ParallelStep("fsdp", Case("gpt2", "autocast", "training", 4, 1024, "adamw", MEDIUM)),
    ParallelStep("ddp", Case("t5-base", "bf16", "training", 16, 256, "adamw")),
    ParallelStep("ddp", Case("convnext-t", "autocast", "training", 64, 0, "adamw")),
    ParallelStep("experts", Case("mlp-wide", "bf16", "inference", 512)),
    ParallelStep("tensor", Case("llama3-8b", "bf16", "inference", 4, 128)),
    ParallelStep("ddp", Case("mlp-wide", "bf16", "training", 4096, 0, "adamw")),
    ParallelStep("ddp", Case("bert-base", "autocast", "training", 8, 128, "adamw")),
    ParallelStep("ddp", Case("gpt2", "fp32", "training", 2, 512, "sgd")),
    ParallelStep("fsdp", Case("llama3-8b", "bf16", "training", 1, 2048, "adamw")),
    # steps 40 and later were added for four GPUs
    ParallelStep("pipeline", Case("gpt2-xl", "bf16", "training", 32, 512), 4),
    ParallelStep("pipeline", Case("gpt2-xl", "bf16", "training", 32, 512), 8),
    ParallelStep("pipeline", Case("gpt2-xl", "bf16", "training", 32, 512), 16),
    ParallelStep("tensor", Case("llama3-8b", "bf16", "inference", 8, 1024)),
    ParallelStep("tensor", Case("llama3-8b-decode", "bf16", "inference", 64, 1024), graph=True),
    ParallelStep("fsdp", Case("gpt2-xl", "bf16", "training", 8, 1024, "adamw")),
    ParallelStep("fsdp", Case("llama3-1b", "bf16", "training", 4, 2048, "adamw")),
    ParallelStep("ddp", Case("llama3-1b", "bf16", "training", 2, 2048, "adamw")),
    # steps 48 and later are those that `parallel_pool` draws by hash
    ParallelStep("ddp", Case("bert-large", "bf16", "training", 16, 256, "adamw")),
    ParallelStep("ddp", Case("bert-base", "bf16", "training", 32, 128, "sgd")),
    ParallelStep("ddp", Case("gpt2", "bf16", "training", 4, 512, "adamw")),
    ParallelStep("ddp", Case("t5-base", "bf16", "training", 4, 512, "adamw")),
    ParallelStep("ddp", Case("llama3-1b", "bf16", "training", 1, 3072, "adamw")),
    ParallelStep("ddp", Case("convnext-t", "autocast", "training", 32, 0, "sgd")),
    ParallelStep("ddp", Case("mlp-wide", "bf16", "training", 8192, 0, "adamw")),
    ParallelStep("ddp", Case("vit-b16", "bf16", "training", 32, 0, "adamw")),
    ParallelStep("fsdp", Case("bert-large", "autocast", "training", 8, 256, "adamw")),
    ParallelStep("fsdp", Case("llama3-1b", "bf16", "training", 2, 3072, "adamw")),
    ParallelStep("fsdp", Case("bert-base", "bf16", "training", 32, 256, "adamw")),
    ParallelStep("fsdp", Case("t5-base", "autocast", "training", 4, 512, "adamw")),
    ParallelStep("fsdp", Case("vit-b16", "autocast", "training", 96, 0, "adamw")),
    ParallelStep("fsdp", Case("vit-l16", "autocast", "training", 32, 0, "adamw")),
    ParallelStep("fsdp", Case("gpt2", "autocast", "training", 16, 1024, "adamw")),
    ParallelStep("tensor", Case("llama3-1b", "bf16", "inference", 2, 768)),
    ParallelStep("tensor", Case("llama3-8b", "bf16", "inference", 6, 768)),
    ParallelStep("tensor", Case("llama3-1b", "bf16", "inference", 1, 768)),
    ParallelStep("tensor", Case("llama3-8b-decode", "bf16", "inference", 8, 512), graph=True),
    ParallelStep("tensor", Case("llama3-1b", "bf16", "inference", 2, 1536)),
    ParallelStep("tensor", Case("llama3-8b-decode", "bf16", "inference", 32, 3072), graph=True),
    ParallelStep("tensor", Case("llama3-1b", "bf16", "inference", 6, 1536)),
    ParallelStep("tensor", Case("llama3-1b-decode", "bf16", "inference", 8, 512)),
    ParallelStep("pipeline", Case("vit-b16", "bf16", "training", 4, 256), 4),
    ParallelStep("pipeline", Case("gpt2-xl", "bf16", "training", 4, 768), 4),
    ParallelStep("pipeline", Case("gpt2", "bf16", "training", 12, 256, None, MEDIUM), 6),
    ParallelStep("pipeline", Case("vit-b16", "bf16", "training", 16, 768), 4),
    ParallelStep("experts", Case("mlp-wide", "fp32", "inference", 2048)),
    ParallelStep("experts", Case("mlp-wide", "bf16", "inference", 16384)),
    ParallelStep("experts", Case("mlp-wide", "fp32", "inference", 16384)),
)

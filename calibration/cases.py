"""The whole-network cases that are recorded and measured on a real GPU."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import nn

from calibration.compiled_host_cases import BLOCKS
from calibration.host_cases import MICRO
from simulator.networks.catalogue import build


@dataclass(frozen=True)
class Case:
    """One question put to a real GPU. `precision` is fp32, bf16, fp16, autocast (bfloat16) or
    autocast-fp16; `phase` inference or training; `mode` eager, compiled or compiled_graphs (which
    replays CUDA graphs); `sizes` override the catalogue's."""

    network: str
    precision: str
    phase: str
    batch: int
    seq: int = 0
    optimizer: str | None = None
    sizes: dict[str, Any] = field(default_factory=dict[str, Any])
    mode: str = "eager"

    @property
    def name(self) -> str:
        """A short unique name, such as `bert-base/autocast/training-adamw/b8s128`."""
        phase = self.phase if self.optimizer is None else f"{self.phase}-{self.optimizer}"
        sizes = "".join(f",{k}={v}" for k, v in self.sizes.items())
        mode = "" if self.mode == "eager" else f"/{self.mode}"
        return f"{self.network}{sizes}/{self.precision}/{phase}/b{self.batch}s{self.seq}{mode}"

    def record(self) -> dict[str, Any]:
        return asdict(self) | {"name": self.name}


def _infer(network: str, precisions: str, batch: int, seq: int = 0, **sizes: Any) -> list[Case]:
    return [Case(network, p, "inference", batch, seq, None, sizes) for p in precisions.split()]


def _train(
    network: str, precisions: str, batch: int, seq: int = 0, by: str = "adamw", **sizes: Any
) -> list[Case]:
    return [Case(network, p, "training", batch, seq, by, sizes) for p in precisions.split()]


CASES: tuple[Case, ...] = (
    *_infer("bert-base", "fp32 fp16 autocast", 8, 128),
    *_infer("bert-base", "bf16", 32, 512),
    *_infer("bert-base", "bf16 fp32", 8, 128, mask=True),
    *_infer("gpt2", "fp16 fp32", 4, 512),
    *_infer("llama3-1b", "bf16", 1, 1024),
    *_infer("llama3-8b", "bf16", 1, 512),
    *_infer("llama3-1b-decode", "bf16", 8, 1024),
    *_infer("mixtral-small", "bf16", 2, 256),
    *_infer("t5-base", "fp32 bf16", 4, 128),
    *_infer("vit-b16", "fp16 autocast", 16),
    *_infer("swin-t", "fp32 autocast", 16),
    *_infer("convnext-t", "bf16 fp32", 16),
    *_infer("resnet50", "fp32 fp16 bf16 autocast", 32),
    *_infer("resnet50", "fp32", 1),
    *_infer("mobilenet-v2", "fp32 fp16", 32),
    *_infer("unet", "fp16", 2),
    *_infer("dit-xl", "bf16", 4),
    *_infer("whisper-encoder", "fp16", 4, 3000),
    *_infer("dlrm", "fp32", 2048),
    *_infer("lstm", "fp32 fp16", 16, 64),
    *_infer("gru", "fp32", 16, 64),
    *_infer("mamba2-130m", "bf16", 2, 512),
    *_infer("convnet-tiny", "fp32", 64),
    *_infer("chain", "fp32", 1),
    *_infer("mlp-tiny", "fp32", 32),
    *_infer("mlp-wide", "bf16", 1024),
    *_train("bert-base", "fp32 bf16 autocast", 8, 128),
    *_train("bert-base", "bf16", 8, 128, "adamw_fused"),
    *_train("gpt2", "bf16 autocast", 4, 512),
    *_train("llama3-1b", "bf16 autocast", 1, 1024),
    *_train("mixtral-small", "bf16", 2, 256),
    *_train("t5-base", "fp32 autocast", 4, 128),
    *_train("vit-b16", "autocast", 16),
    *_train("swin-t", "fp32 autocast", 16),
    *_train("convnext-t", "autocast", 16),
    *_train("resnet50", "fp32 autocast", 32, 0, "sgd"),
    *_train("mobilenet-v2", "fp32", 32, 0, "sgd"),
    *_train("unet", "autocast", 2),
    *_train("dit-xl", "bf16", 4),
    *_train("whisper-encoder", "autocast", 4, 3000),
    *_train("dlrm", "fp32", 2048, 0, "sgd"),
    *_train("lstm", "fp32", 16, 64),
    *_train("gru", "fp32", 16, 64),
    *_train("mamba2-130m", "bf16", 2, 512),
    *_train("convnet-tiny", "fp32", 64),
    *_train("mlp-tiny", "fp32", 32),
    *_train("mlp-wide", "bf16", 1024, 0, "sgd"),
)

HOST_CASES: tuple[Case, ...] = (
    *(case for name in MICRO for case in _infer(name, "fp32", 4)),
    *(case for name in ("scales", "linears", "norms", "softmaxes", "sums", "transposes", "adds")
      for case in _train(name, "fp32", 4, 0, "sgd")),
    *(case for by in ("adamw", "adamw_fused", "sgd") for count in (50, 400)
      for case in _train("weights", "fp32", 4, 0, by, count=count)),
)  # fmt: skip
"""Steps ruled by their host, each by one kind of its work."""

VALIDATION: tuple[Case, ...] = (
    *(case for batch in (1, 4, 64) for case in _infer("bert-base", "fp16", batch, 64)),
    *_infer("bert-base", "autocast", 1, 128),
    *_infer("bert-large", "fp16 fp32", 4, 256),
    *(case for batch in (1, 16) for case in _infer("gpt2", "bf16", batch, 128)),
    *_infer("gpt2", "autocast", 2, 1024),
    *_infer("gpt2-xl", "fp16", 1, 512),
    *(case for batch in (1, 8) for case in _infer("llama3-1b", "bf16", batch, 2048)),
    *_infer("llama3-1b", "fp16", 4, 128),
    *_infer("llama3-8b", "bf16", 4, 1024),
    *_infer("llama3-8b-decode", "bf16", 16, 2048),
    *_infer("llama3-1b-decode", "bf16", 1, 256),
    *_infer("mixtral-small", "bf16", 8, 512),
    *_infer("t5-base", "bf16", 16, 256),
    *(case for batch in (1, 64) for case in _infer("vit-b16", "bf16", batch)),
    *_infer("vit-l16", "fp16", 8),
    *_infer("swin-t", "fp16", 64),
    *_infer("convnext-t", "autocast", 64),
    *(case for batch in (8, 128) for case in _infer("resnet50", "autocast fp32", batch)),
    *_infer("resnet18", "fp32 fp16", 16),
    *_infer("mobilenet-v2", "autocast", 64),
    *_infer("unet", "bf16", 1),
    *_infer("dit-xl", "fp16", 16),
    *_infer("whisper-encoder", "bf16", 1, 3000),
    *_infer("dlrm", "fp32", 256),
    *_infer("lstm", "fp32", 64, 32),
    *_infer("gru", "fp16", 8, 128),
    *_infer("mamba2-130m", "bf16", 8, 1024),
    *_infer("convnet-tiny", "fp32", 1024),
    *_infer("chain", "fp32", 1, 0, n=16),
    *_infer("mlp-tiny", "fp32 fp16", 1024),
    *_infer("mlp-wide", "fp32", 256),
    *_train("bert-base", "autocast", 32, 256),
    *_train("bert-large", "bf16", 4, 128, "adamw_fused"),
    *_train("gpt2", "bf16", 8, 1024),
    *_train("gpt2", "fp32", 1, 256, "sgd"),
    *_train("llama3-1b", "bf16", 4, 512, "adamw_fused"),
    *_train("t5-base", "bf16", 8, 256),
    *_train("vit-b16", "bf16", 64),
    *_train("swin-t", "autocast", 64),
    *_train("convnext-t", "fp32", 8),
    *_train("resnet50", "autocast", 128, 0, "sgd"),
    *_train("resnet18", "fp32", 32, 0, "adamw"),
    *_train("mobilenet-v2", "autocast", 64, 0, "sgd"),
    *_train("unet", "bf16", 1),
    *_train("dit-xl", "autocast", 8),
    *_train("dlrm", "fp32", 512, 0, "sgd"),
    *_train("lstm", "fp32", 32, 32, "sgd"),
    *_train("mamba2-130m", "autocast", 4, 256),
    *_train("convnet-tiny", "fp32", 512, 0, "sgd"),
    *_train("mlp-tiny", "fp32", 4096, 0, "adamw"),
    *_train("mlp-wide", "bf16", 4096, 0, "adamw"),
)  # fmt: skip
"""Steps that are never fitted: what the accuracy is measured on."""

_DOUBLING = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)

BATCHES: tuple[Case, ...] = (
    *(case for batch in _DOUBLING[:8] for case in _infer("bert-base", "fp16", batch, 128)),
    *(case for batch in _DOUBLING[:6] for case in _infer("gpt2", "bf16", batch, 256)),
    *(case for batch in _DOUBLING[:8] for case in _infer("resnet50", "fp32 autocast", batch)),
    *(case for batch in _DOUBLING[:8] for case in _infer("vit-b16", "bf16", batch)),
    *(case for batch in _DOUBLING[:7] for case in _infer("t5-base", "bf16", batch, 128)),
    *(case for batch in _DOUBLING[:7] for case in _infer("swin-t", "fp16", batch)),
    *(case for batch in _DOUBLING[:6] for case in _infer("llama3-1b", "bf16", batch, 128)),
    *(case for batch in _DOUBLING[2:] for case in _infer("convnet-tiny", "fp32", batch)),
    *(case for batch in _DOUBLING[:8] for case in _train("bert-base", "autocast", batch, 128)),
    *(case for batch in _DOUBLING[:7] for case in _train("resnet50", "autocast", batch, 0, "sgd")),
    *(case for batch in _DOUBLING[:6] for case in _train("gpt2", "bf16", batch, 256)),
)  # fmt: skip
"""Steps whose batch grows until the GPU rules them: where do they leave the overhead regime?"""


def _compiled(cases: list[Case]) -> list[Case]:
    return [replace(case, mode="compiled") for case in cases]


COMPILED: tuple[Case, ...] = (
    *_compiled(_infer("bert-base", "fp16", 8, 128)),
    *_compiled(_infer("bert-base", "bf16", 32, 512)),
    *_compiled(_infer("gpt2", "bf16", 4, 512)),
    *_compiled(_infer("llama3-1b", "bf16", 1, 512)),
    *_compiled(_infer("vit-b16", "bf16", 16)),
    *_compiled(_infer("resnet50", "fp32 fp16", 32)),
    *_compiled(_infer("mobilenet-v2", "fp16", 32)),
    *_compiled(_infer("mlp-tiny", "fp32", 1024)),
    *_compiled(_infer("chain", "fp32", 1)),
    *_compiled(_train("bert-base", "autocast", 8, 128)),
    *_compiled(_train("gpt2", "bf16", 4, 512)),
    *_compiled(_train("resnet50", "autocast", 32, 0, "sgd")),
    *_compiled(_train("vit-b16", "bf16", 16)),
    *_compiled(_train("mlp-wide", "bf16", 1024, 0, "sgd")),
)
"""Steps under `torch.compile`: kernels, times and memory, no ops."""

COMPILED_VALIDATION: tuple[Case, ...] = (
    *_compiled(_train("gpt2", "bf16", 8, 1024)),
    *_compiled(_infer("bert-large", "fp16", 4, 256)),
    *_compiled(_infer("t5-base", "bf16", 16, 256)),
    *_compiled(_infer("resnet18", "fp16", 16)),
    *_compiled(_train("bert-base", "autocast", 32, 256)),
    *_compiled(_infer("vit-b16", "bf16", 64)),
    *_compiled(_infer("llama3-1b", "bf16", 1, 2048)),
    *_compiled(_infer("llama3-1b-decode", "bf16", 1, 256)),
    *_compiled(_infer("bert-base", "fp16", 1, 64)),
    *_compiled(_train("vit-b16", "bf16", 64)),
    *_compiled(_infer("convnext-t", "autocast", 64)),
    *_compiled(_infer("mobilenet-v2", "autocast", 64)),
    *_compiled(_train("llama3-1b", "bf16", 4, 512, "adamw_fused")),
    *_compiled(_infer("gpt2", "bf16", 1, 128)),
    *_compiled(_infer("dlrm", "fp32", 256)),
    *_compiled(_train("resnet18", "fp32", 32, 0, "adamw")),
    *_compiled(_infer("swin-t", "fp16", 64)),
    *_compiled(_infer("resnet50", "autocast", 128)),
    *_compiled(_train("mlp-tiny", "fp32", 4096, 0, "adamw")),
    *_compiled(_infer("mlp-wide", "fp32", 256)),
    *_compiled(_infer("chain", "fp32", 1, 0, n=16)),
    *_compiled(_infer("convnet-tiny", "fp32", 1024)),
    *_compiled(_train("gpt2", "fp32", 1, 256, "sgd")),
    *_compiled(_infer("dit-xl", "fp16", 16)),
    *_compiled(_infer("whisper-encoder", "bf16", 1, 3000)),
    *_compiled(_train("t5-base", "bf16", 8, 256)),
    *_compiled(_train("mobilenet-v2", "autocast", 64, 0, "sgd")),
    *_compiled(_infer("bert-base", "bf16", 64, 512, mask=True)),
    *_compiled(_infer("unet", "bf16", 1)),
    *_compiled(_train("resnet50", "autocast", 128, 0, "sgd")),
    *_compiled(_train("swin-t", "autocast", 64)),
    *_compiled(_infer("llama3-8b-decode", "bf16", 16, 2048)),
    *_compiled(_train("convnext-t", "fp32", 8)),
    *_compiled(_infer("mamba2-130m", "bf16", 8, 1024)),
)
"""Steps under `torch.compile` that are never fitted, each with its eager twin timed beside it."""

_GRAPHS = "compiled_graphs"

COMPILED_HOST: tuple[Case, ...] = (
    *_compiled(
        [c for n in (1, 10, 50, 200) for c in _infer("alternatingsums", "fp32", 4, count=n)]
    ),
    *_compiled([c for n in (1, 10, 50) for c in _infer("layers", "fp32", 4, count=n)]),
    *_compiled([c for n in (4, 40, 160) for c in _infer("manyinputs", "fp32", 4, count=n)]),
    *_compiled([c for n in (40, 160) for c in _infer("weights", "fp32", 4, count=n)]),
    *_compiled([c for n in (2, 32) for c in _infer("nested", "fp32", 4, count=n)]),
    *_compiled([c for n in (1, 6, 24) for c in _infer("mlpblocks", "fp32", 4, count=n)]),
    *_compiled(_infer("attentionblocks", "bf16", 4, count=6)),
    *_compiled(_infer("imageblocks", "fp32", 2, count=8)),
    *_compiled(_infer("mlpblocks", "autocast", 4, count=6)),
    *_compiled([c for n in (1, 6, 24) for c in _train("mlpblocks", "fp32", 4, by="sgd", count=n)]),
    *_compiled([Case("mlpblocks", "fp32", "training", 4, 0, None, {"count": 6})]),
    *_compiled(_train("attentionblocks", "bf16", 4, by="sgd", count=6)),
    *_compiled(_train("imageblocks", "fp32", 2, by="sgd", count=8)),
    *_compiled(_train("mlpblocks", "autocast", 4, by="sgd", count=6)),
    *_compiled(_train("weights", "fp32", 4, by="sgd", count=100)),
    *(
        replace(c, mode=_GRAPHS)
        for n in (1, 50)
        for c in _infer("alternatingsums", "fp32", 4, count=n)
    ),
    *(replace(c, mode=_GRAPHS) for n in (1, 24) for c in _infer("mlpblocks", "fp32", 4, count=n)),
    *(replace(c, mode=_GRAPHS) for c in _infer("manyinputs", "fp32", 4, count=40)),
    *(replace(c, mode=_GRAPHS) for c in _train("mlpblocks", "fp32", 4, by="sgd", count=6)),
)
"""Compiled steps ruled by their host: launches, library calls, inputs, weights, modules, autograd,
and replays of CUDA graphs."""

SUITES = {"recordings": CASES, "host": HOST_CASES, "validation": VALIDATION, "batches": BATCHES,
          "compiled": COMPILED, "compiled_validation": COMPILED_VALIDATION,
          "compiled_host": COMPILED_HOST}  # fmt: skip

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Step:
    """A case made ready on a device: calling it runs one whole step."""

    def __init__(self, case: Case, device: str) -> None:
        torch.manual_seed(0)
        dtype = _DTYPES.get(case.precision, torch.float32)
        with torch.device(device):
            torch.set_default_dtype(dtype)
            try:
                make = MICRO.get(case.network) or BLOCKS.get(case.network)
                self.module: nn.Module = (
                    make(**case.sizes) if make else build(case.network, **case.sizes)
                )
            finally:
                torch.set_default_dtype(torch.float32)
        self.module.to(dtype)
        self.training = case.phase == "training"
        self.module.train(self.training)
        self.run: Any = self.module
        if case.mode != "eager":
            graphs = "reduce-overhead" if case.mode == "compiled_graphs" else None
            self.run = torch.compile(self.module, mode=graphs)
        with torch.device(device):
            self.inputs = self.module.example_inputs(case.batch, case.seq, self.training)  # pyright: ignore
        self.autocast = {"autocast": torch.bfloat16, "autocast-fp16": torch.float16}.get(
            case.precision
        )
        self.optimizer = self._optimizer(case.optimizer) if case.optimizer else None

    def _optimizer(self, name: str) -> torch.optim.Optimizer:
        weights = list(self.module.parameters())
        if name == "sgd":
            return torch.optim.SGD(weights, lr=1e-5, momentum=0.9)
        return torch.optim.AdamW(weights, lr=1e-5, fused=True if name == "adamw_fused" else None)

    def forward(self) -> Any:
        if self.autocast is None:
            return self.run(*self.inputs)
        with torch.autocast("cuda", dtype=self.autocast):
            return self.run(*self.inputs)

    def __call__(self) -> None:
        if not self.training:
            with torch.no_grad():
                self.forward()
            return
        self.forward().loss.backward()
        if self.optimizer is not None:
            self.optimizer.step()
            self.optimizer.zero_grad()

"""The cases that are measured under `torch.compile`: networks, and host-bound steps."""

from __future__ import annotations

from dataclasses import replace

from calibration.cases.case import Case, infer, train


def _compiled(cases: list[Case]) -> list[Case]:
    return [replace(case, mode="compiled") for case in cases]


COMPILED: tuple[Case, ...] = (
    *_compiled(infer("bert-base", "fp16", 8, 128)),
    *_compiled(infer("bert-base", "bf16", 32, 512)),
    *_compiled(infer("gpt2", "bf16", 4, 512)),
    *_compiled(infer("llama3-1b", "bf16", 1, 512)),
    *_compiled(infer("vit-b16", "bf16", 16)),
    *_compiled(infer("resnet50", "fp32 fp16", 32)),
    *_compiled(infer("mobilenet-v2", "fp16", 32)),
    *_compiled(infer("mlp-tiny", "fp32", 1024)),
    *_compiled(infer("chain", "fp32", 1)),
    *_compiled(train("bert-base", "autocast", 8, 128)),
    *_compiled(train("gpt2", "bf16", 4, 512)),
    *_compiled(train("resnet50", "autocast", 32, 0, "sgd")),
    *_compiled(train("vit-b16", "bf16", 16)),
    *_compiled(train("mlp-wide", "bf16", 1024, 0, "sgd")),
)
"""Steps under `torch.compile`: kernels, times and memory are recorded, but no ops."""

COMPILED_VALIDATION: tuple[Case, ...] = (
    *_compiled(train("gpt2", "bf16", 8, 1024)),
    *_compiled(infer("bert-large", "fp16", 4, 256)),
    *_compiled(infer("t5-base", "bf16", 16, 256)),
    *_compiled(infer("resnet18", "fp16", 16)),
    *_compiled(train("bert-base", "autocast", 32, 256)),
    *_compiled(infer("vit-b16", "bf16", 64)),
    *_compiled(infer("llama3-1b", "bf16", 1, 2048)),
    *_compiled(infer("llama3-1b-decode", "bf16", 1, 256)),
    *_compiled(infer("bert-base", "fp16", 1, 64)),
    *_compiled(train("vit-b16", "bf16", 64)),
    *_compiled(infer("convnext-t", "autocast", 64)),
    *_compiled(infer("mobilenet-v2", "autocast", 64)),
    *_compiled(train("llama3-1b", "bf16", 4, 512, "adamw_fused")),
    *_compiled(infer("gpt2", "bf16", 1, 128)),
    *_compiled(infer("dlrm", "fp32", 256)),
    *_compiled(train("resnet18", "fp32", 32, 0, "adamw")),
    *_compiled(infer("swin-t", "fp16", 64)),
    *_compiled(infer("resnet50", "autocast", 128)),
    *_compiled(train("mlp-tiny", "fp32", 4096, 0, "adamw")),
    *_compiled(infer("mlp-wide", "fp32", 256)),
    *_compiled(infer("chain", "fp32", 1, 0, n=16)),
    *_compiled(infer("convnet-tiny", "fp32", 1024)),
    *_compiled(train("gpt2", "fp32", 1, 256, "sgd")),
    *_compiled(infer("dit-xl", "fp16", 16)),
    *_compiled(infer("whisper-encoder", "bf16", 1, 3000)),
    *_compiled(train("t5-base", "bf16", 8, 256)),
    *_compiled(train("mobilenet-v2", "autocast", 64, 0, "sgd")),
    *_compiled(infer("bert-base", "bf16", 64, 512, mask=True)),
    *_compiled(infer("unet", "bf16", 1)),
    *_compiled(train("resnet50", "autocast", 128, 0, "sgd")),
    *_compiled(train("swin-t", "autocast", 64)),
    *_compiled(infer("llama3-8b-decode", "bf16", 16, 2048)),
    *_compiled(train("convnext-t", "fp32", 8)),
    *_compiled(infer("mamba2-130m", "bf16", 8, 1024)),
)
"""Steps under `torch.compile` that no fit uses, each timed together with the same step in eager
mode."""

COMPILED_BLIND: tuple[Case, ...] = (
    *_compiled(infer("vit-l16", "bf16", 8)),
    *_compiled(train("bert-large", "autocast", 8, 128)),
    *_compiled(infer("convnext-t", "bf16", 32)),
    *_compiled(infer("gpt2-xl", "fp16", 1, 256, layers=12)),
    *_compiled(train("resnet50", "bf16", 64, 0, "sgd")),
    *_compiled(infer("dlrm", "bf16", 2048)),
    *_compiled(infer("swin-t", "bf16", 16)),
    *_compiled(train("gpt2", "autocast", 8, 512)),
    *_compiled(infer("t5-base", "fp16", 4, 128)),
    *_compiled(infer("mobilenet-v2", "fp32", 16)),
    *_compiled(train("mobilenet-v2", "fp32", 32, 0, "sgd")),
    *_compiled(infer("bert-base", "bf16", 128, 128)),
    *_compiled(infer("whisper-encoder", "bf16", 8, 3000)),
    *_compiled(train("convnext-t", "autocast", 32)),
    *_compiled(infer("llama3-8b", "bf16", 1, 1024, layers=8)),
    *_compiled(infer("convnet-tiny", "fp16", 256)),
    *_compiled(train("mlp-wide", "autocast", 512, 0, "sgd")),
    *_compiled(infer("resnet50", "bf16", 256)),
    *_compiled(infer("unet", "fp16", 2)),
    *_compiled(train("vit-l16", "bf16", 8)),
    *_compiled(infer("dit-xl", "bf16", 4)),
    *_compiled(train("t5-base", "autocast", 8, 128)),
    *_compiled(infer("mamba2-130m", "fp16", 2, 512)),
    *_compiled(train("swin-t", "fp32", 16)),
    *_compiled(infer("mlp-tiny", "fp32", 64)),
    *_compiled(infer("gpt2", "fp16", 16, 512)),
    *_compiled(train("resnet18", "autocast", 128, 0, "sgd")),
)
"""Further compiled steps that no fit uses. They were predicted before they were measured, and have
not been compared since."""

_GRAPHS = "compiled_graphs"


def _replayed(cases: list[Case]) -> list[Case]:
    return [replace(case, mode=_GRAPHS) for case in cases]


COMPILED_HOST: tuple[Case, ...] = (
    *_compiled([c for n in (1, 10, 50, 200) for c in infer("alternatingsums", "fp32", 4, count=n)]),
    *_compiled([c for n in (1, 10, 50) for c in infer("layers", "fp32", 4, count=n)]),
    *_compiled([c for n in (4, 40, 160) for c in infer("manyinputs", "fp32", 4, count=n)]),
    *_compiled([c for n in (40, 160) for c in infer("weights", "fp32", 4, count=n)]),
    *_compiled([c for n in (2, 32) for c in infer("nested", "fp32", 4, count=n)]),
    *_compiled([c for n in (1, 6, 24) for c in infer("mlpblocks", "fp32", 4, count=n)]),
    *_compiled(infer("attentionblocks", "bf16", 4, count=6)),
    *_compiled(infer("imageblocks", "fp32", 2, count=8)),
    *_compiled(infer("mlpblocks", "autocast", 4, count=6)),
    *_compiled([c for n in (1, 6, 24) for c in train("mlpblocks", "fp32", 4, by="sgd", count=n)]),
    *_compiled([Case("mlpblocks", "fp32", "training", 4, 0, None, {"count": 6})]),
    *_compiled(train("attentionblocks", "bf16", 4, by="sgd", count=6)),
    *_compiled(train("imageblocks", "fp32", 2, by="sgd", count=8)),
    *_compiled(train("mlpblocks", "autocast", 4, by="sgd", count=6)),
    *_compiled(train("weights", "fp32", 4, by="sgd", count=100)),
    *_replayed([c for n in (1, 50) for c in infer("alternatingsums", "fp32", 4, count=n)]),
    *_replayed([c for n in (1, 24) for c in infer("mlpblocks", "fp32", 4, count=n)]),
    *_replayed(infer("manyinputs", "fp32", 4, count=40)),
    *_replayed(train("mlpblocks", "fp32", 4, by="sgd", count=6)),
)
"""Host-bound compiled steps: launches, library calls, inputs, weights, modules, autograd, and
replays of CUDA graphs."""

COMPILED_MODES: tuple[Case, ...] = (
    *_replayed(infer("bert-base", "bf16", 1, 128, layers=3)),
    *_compiled(train("weights", "fp32", 4, by="adamw_compiled", count=100)),
    *_replayed(train("bert-base", "autocast", 4, 128, layers=3)),
    *_replayed(train("gpt2", "bf16", 1, 256, layers=3)),
    *_replayed(train("resnet18", "autocast", 16, 0, "sgd")),
    *(
        replace(c, mode="compiled_autotuned")
        for c in infer("mlp-wide", "bf16", 1024, width=2048, depth=4)
    ),
    *_replayed(infer("resnet18", "fp16", 1)),
    *_replayed(infer("gpt2", "bf16", 1, 128, layers=3)),
    *_compiled(train("mlpblocks", "fp32", 4, by="adamw_compiled", count=6)),
    *_replayed([c for n in (1, 24) for c in train("mlpblocks", "fp32", 4, by="sgd", count=n)]),
    *_replayed(train("weights", "fp32", 4, by="sgd", count=100)),
)
"""The other modes of torch.compile, and a compiled optimizer; the most informative first."""

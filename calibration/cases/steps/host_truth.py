"""Host-bound steps with every kind of host work, which `calibration.measure.host_truth` times."""

from __future__ import annotations

from dataclasses import replace

from calibration.cases.case import Case, infer, train
from calibration.cases.networks.host import MICRO
from calibration.cases.networks.host_ops import OPS, PYTHON, WAITING

_UNTRAINED = {*PYTHON, *WAITING, "addinplace", "copyinplace", "batchnorm"} - {"nothing", "identity"}
OPS_TRAINED = tuple(name for name in OPS if name not in _UNTRAINED)

MICRO_CASES: tuple[Case, ...] = (
    *infer("chain", "fp32", 1, n=16, elements=4096),
    *(c for n in (1, 4, 64) for c in infer("chain", "fp32", 1, n=n, elements=4096)),
    *(c for name in PYTHON for c in infer(f"ops-{name}", "fp32", 4)),
    *(c for name in OPS if name not in PYTHON for c in infer(f"ops-{name}", "fp32", 4)),
    *(c for name in MICRO for c in infer(name, "fp32", 4)),
    *(c for by in ("sgd", "adamw", "adamw_fused", "sgd_single", "adamw_single")
      for count in (20, 200) for c in train("weights", "fp32", 4, 0, by, count=count)),
    *(c for count in (1, 10, 40) for c in train("linears", "fp32", 4, 0, "sgd", count=count)),
    *(c for name in ("nothing", "add", "mul", "view", "transpose", "slice", "cos", "gelu", "relu",
                     "softmax", "layernorm", "linear", "linearmodule", "mm", "bmm", "conv2d",
                     "attention", "dropout", "cat", "embedding", "sum", "index", "identity",
                     "tobf16", "unsqueeze", "clone", "crossentropy", "reshape", "pow", "where")
      if name in OPS_TRAINED for c in train(f"ops-{name}", "fp32", 4, 0, "sgd", count=50)),
    *(c for name in ("linear", "linearmodule", "layernorm", "add", "mm")
      for c in infer(f"ops-{name}", "autocast bf16", 4)),
)  # fmt: skip
"""One kind of host work at a time."""

_SMALL = dict(batch=1, seq=32)
CATALOGUE: tuple[Case, ...] = (
    *infer("bert-base", "bf16 fp32 autocast", 1, 64),
    *infer("gpt2", "bf16", 1, 64),
    *infer("resnet50", "fp32 autocast", 1),
    *infer("vit-b16", "bf16", 1),
    *infer("t5-base", "bf16", 1, 32),
    *infer("llama3-1b", "bf16", 1, 32, layers=6, width=256, heads=8, kv_heads=2, hidden=512),
    *infer("mixtral-small", "bf16", 1, 32),
    *infer("swin-t", "fp16", 1),
    *infer("convnext-t", "bf16", 1),
    *infer("mobilenet-v2", "fp32", 1),
    *infer("unet", "fp16", 1),
    *infer("whisper-encoder", "bf16", 1, 300),
    *infer("lstm", "fp32", 4, 32),
    *infer("mamba2-130m", "bf16", 1, 64),
    *infer("dlrm", "fp32", 64),
    *infer("convnet-tiny", "fp32", 8),
    *infer("mlp-tiny", "fp32", 8),
    *train("bert-base", "bf16 autocast", 1, 64),
    *train("gpt2", "bf16", 1, 64, "adamw_fused"),
    *train("resnet18", "fp32 autocast", 1, 0, "sgd"),
    *train("vit-b16", "bf16", 1),
    *train("t5-base", "bf16", 1, 32),
    *train("llama3-1b", "bf16", 1, 32, layers=6, width=256, heads=8, kv_heads=2, hidden=512),
    *train("mobilenet-v2", "fp32", 1, 0, "sgd"),
    *train("convnext-t", "bf16", 1),
    *train("convnet-tiny", "fp32", 8),
    *train("mlp-tiny", "fp32", 8),
    *train("mlp-tiny", "fp32", 8, 0, "sgd"),
)
"""Networks of the catalogue with little work, so that they are host-bound."""


def _packaged(name: str, trained: str | None = "adamw", layers: int = 4) -> list[Case]:
    network = f"transformers-{name}"
    seq = {"whisper": 100, "wav2vec2": 8000}.get(name, 32)
    sizes = {} if name in _UNSIZED else {"layers": layers}
    more = train(network, "fp32", 2, seq, trained, **sizes) if trained else []
    return [*infer(network, "fp32", 1, seq, **sizes), *more]


_UNSIZED = ("swin", "convnext", "resnet", "segformer", "mobilevit")
FIRST = (
    "bert",
    "gpt2",
    "llama",
    "t5",
    "vit",
    "mixtral",
    "whisper",
    "clip",
    "bart",
    "opt",
    "distilbert",
    "qwen2",
    "swin",
    "resnet",
    "gptneox",
    "deberta",
)
REST = (
    "roberta", "electra", "albert", "mistral", "gemma2", "phi3", "beit", "dinov2", "convnext",
    "segformer", "mobilevit", "wav2vec2", "qwen3", "bert-mask", "bert-mlm", "mamba",
)  # fmt: skip

PACKAGED_CASES: tuple[Case, ...] = (
    *(c for name in FIRST for c in _packaged(name)),
    *(c for name in ("resnet18", "mobilenetv3_small_100", "convnext_atto", "efficientnet_b0")
      for c in (*infer(f"timm-{name}", "fp32", 1), *train(f"timm-{name}", "fp32", 2, 0, "sgd"))),
    *infer("transformers-bert", "bf16 autocast", 1, 32, layers=12),
    *infer("transformers-llama", "bf16 autocast", 1, 32, layers=12),
    *infer("transformers-gpt2", "bf16", 1, 32, layers=12),
    *train("transformers-bert", "autocast", 1, 32, "sgd", layers=4),
    *train("transformers-llama", "bf16", 1, 32, "adamw_fused", layers=4),
    *(c for name in REST for c in _packaged(name, None)),
    *(c for name in ("resnet50", "regnety_002", "densenet121", "ghostnet_100")
      for c in infer(f"timm-{name}", "fp32", 1)),
)  # fmt: skip
"""Networks as built by transformers and timm."""

COMPILED: tuple[Case, ...] = tuple(
    replace(case, mode="compiled")
    for case in (
        *infer("transformers-bert", "fp32", 1, 32, layers=2),
        *train("transformers-bert", "fp32", 1, 32, "sgd", layers=2),
        *infer("mlp-tiny", "fp32", 8),
        *infer("transformers-llama", "fp32", 1, 32, layers=2),
    )
)
CASES = (*PACKAGED_CASES, *CATALOGUE, *MICRO_CASES)
"""Eager steps, taken in turn from the three groups in case there is no time for all of them."""

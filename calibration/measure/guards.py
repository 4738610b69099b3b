"""Measure the time of Dynamo's guards: `python -m calibration.measure.guards FILE --seconds 110`.

JSON lines: the machine with its host index, then one line per network in inference. The network is
compiled by a backend that generates no work, so that a call takes only the time that precedes the
compiled code: that of the guards and of passing the inputs.

    call_s   seconds of a call, the smallest of its rounds
    guards   nodes of the guard tree; inputs of the graph, modules, and weights and buffers
    holders  modules that hold an object other than tensors, modules, numbers and functions
    host_s   the host's fixed work, timed next to it
"""

from __future__ import annotations

import argparse
import json
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch._dynamo

from calibration.cases.case import Case, Step, infer
from calibration.measure.instruments.device import find, versions
from calibration.measure.instruments.host_index import REFERENCE, suite
from calibration.measure.instruments.timing import period

CASES: tuple[Case, ...] = (
    *infer("hf-bert-base", "bf16", 1, 32),
    *infer("bert-base", "bf16", 1, 32),
    *infer("timm:resnet50d", "fp16", 1),
    *infer("resnet50", "fp16", 1),
    *infer("hf-gpt2-medium", "bf16", 1, 32),
    *infer("gpt2", "bf16", 1, 32),
    *infer("timm:vit_small_patch16_224", "bf16", 1),
    *infer("vit-b16", "bf16", 1),
    *infer("hf-qwen3-0.6b", "bf16", 1, 32),
    *infer("llama3-1b", "bf16", 1, 32),
    *infer("timm:efficientnet_b2", "fp16", 1),
    *infer("mobilenet-v2", "fp16", 1),
    *infer("hf-t5-base", "bf16", 1, 32),
    *infer("t5-base", "bf16", 1, 32),
    *[c for n in (4, 12) for c in infer("transformers-bert", "fp32", 2, 32, layers=n)],
    *[c for n in (4, 12) for c in infer("transformers-llama", "fp32", 2, 32, layers=n)],
    *[c for n in (4, 12) for c in infer("transformers-vit", "fp32", 2, 0, layers=n)],
    *[c for n in (4, 12) for c in infer("transformers-opt", "fp32", 2, 32, layers=n)],
    *infer("timm:swinv2_tiny_window8_256", "fp16", 1),
    *infer("timm:beit_base_patch16_224", "fp16", 1),
    *infer("swin-t", "fp16", 1),
    *infer("convnext-t", "fp16", 1),
    *infer("timm:convnextv2_tiny", "bf16", 1),
    *infer("hf-mistral-7b", "bf16", 1, 32),
    *[c for n in (6, 24) for c in infer("mlpblocks", "fp32", 4, count=n)],
    *[c for n in (40, 160) for c in infer("weights", "fp32", 4, count=n)],
    *[c for n in (40, 160) for c in infer("manyinputs", "fp32", 4, count=n)],
    *[c for n in (2, 32) for c in infer("nested", "fp32", 4, count=n)],
)
_PLAIN = (int, float, str, bool, tuple, list, dict, set, frozenset, torch.Tensor, torch.nn.Module,
          type, torch.dtype, types.FunctionType, types.MethodType, types.BuiltinFunctionType,
          type(None))  # fmt: skip
ROUNDS = 9


class Idle:
    """A backend whose code returns the result of its first call."""

    def __init__(self) -> None:
        self.graphs = 0
        self.inputs = 0

    def __call__(self, graph: Any, inputs: list[Any]) -> Callable[..., Any]:
        self.graphs += 1
        self.inputs += len(inputs)
        results: list[Any] = []

        def run(*args: Any) -> Any:
            if not results:
                results.append(graph(*args))
            return results[0]

        return run


def measured(case: Case, device: str) -> dict[str, Any]:
    """A network's call through its guards."""
    step = Step(case, device)
    module = step.module
    backend = Idle()
    compiled: Any = torch.compile(module, backend=backend)
    with torch.no_grad():
        for _ in range(3):
            compiled(*step.inputs)
        rounds: list[float] = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            for _ in range(50):
                compiled(*step.inputs)
            rounds.append((time.perf_counter() - began) / 50)
    entries = torch._dynamo.eval_frame._debug_get_cache_entry_list(type(module).forward.__code__)  # pyright: ignore[reportPrivateUsage]
    modules = list(module.modules())
    return {
        "call_s": min(rounds),
        "guards": sum(str(entry.guard_manager).count("\n") for entry in entries),
        "graphs": backend.graphs,
        "inputs": backend.inputs,
        "modules": len(modules),
        "weights": len([*module.parameters(), *module.buffers()]),
        "holders": sum(holds_objects(each) for each in modules),
    }


def holds_objects(module: torch.nn.Module) -> bool:
    """Whether a module holds an object, such as a configuration, in addition to tensors and plain
    values."""
    own = ((name, value) for name, value in vars(module).items() if not name.startswith("_"))
    return any(not isinstance(value, _PLAIN) for _, value in own)


def main() -> None:
    """Measure until the time limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=110.0)
    parser.add_argument("--dry", action="store_true", help="on the CPU")
    options = parser.parse_args()
    until = time.perf_counter() + options.seconds
    device = "cpu" if options.dry else "cuda"
    work = Step(REFERENCE, "cpu")
    with options.file.open("w", encoding="utf-8") as out:

        def say(row: dict[str, Any]) -> None:
            out.write(json.dumps(row) + "\n")
            out.flush()

        machine = {} if options.dry else {"gpu": find().name, **versions()}
        say({"machine": machine, "host_index": {} if options.dry else suite(gpu=True)})
        for case in CASES:
            if time.perf_counter() > until:
                break
            row: dict[str, Any] = {"case": case.record()}
            try:
                row["host_s"] = period(work, 0.03, 3, "cpu").median_s
                row |= measured(case, device)
            # a package may be missing, and a network may raise any error
            except Exception as error:
                row["failed"] = repr(error)[:300]
            say(row)
            print(case.name, row.get("failed") or f"{row['call_s'] * 1e6:.0f} µs", flush=True)
            torch._dynamo.reset()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()

"""The memory of steps, block by block: `python -m calibration.measure.peak_memory FILE --seconds
N`.

The cases are recurrent layers and small U-Nets, whose peak depends on the workspaces and reserves
of cuDNN. Each case writes one line of JSON: bytes before a step, at its peak and after it, and
every block that the step allocates (+) and frees (−), in order. Blocks are rounded by the caching
allocator. Needs a CUDA GPU and torch.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.measure.instruments.device import versions

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
Row = dict[str, Any]


class Twice(nn.Sequential):
    """Two 3 × 3 convolutions, each followed by its norm and a ReLU: [N, inward, H, W] to `outward`
    channels."""

    def __init__(self, inward: int, outward: int) -> None:
        pairs = ((inward, outward), (outward, outward))
        layers = [
            (nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))
            for a, b in pairs
        ]
        super().__init__(*itertools.chain(*layers))


class SmallUNet(nn.Module):
    """A U-Net (Ronneberger et al. 2015) with padding: `depth` halvings, `width` channels at the
    top."""

    def __init__(self, width: int = 32, depth: int = 3, colours: int = 3, classes: int = 2) -> None:
        super().__init__()
        widths = [width << level for level in range(depth + 1)]
        inward = [colours, *widths[:-1]]
        self.down = nn.ModuleList([Twice(a, b) for a, b in zip(inward, widths, strict=True)])
        steps = [(widths[i], widths[i - 1]) for i in range(depth, 0, -1)]
        self.rise = nn.ModuleList([nn.ConvTranspose2d(a, b, 2, 2) for a, b in steps])
        self.up = nn.ModuleList([Twice(a, b) for a, b in steps])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        """[N, colours, H, W] to [N, classes, H, W]."""
        levels: list[Tensor] = []
        for level, layer in enumerate(self.down):
            x = layer(F.max_pool2d(x, 2) if level else x)
            levels.append(x)
        for rise, layer, beside in zip(self.rise, self.up, levels[-2::-1], strict=True):
            x = layer(torch.cat([beside, rise(x)], 1))
        return self.head(x)


class Sequences(nn.Module):
    """A recurrent layer that returns only its outputs: [N, T, features] to [N, T, hidden]."""

    def __init__(self, cell: str, features: int, hidden: int, layers: int, both_ways: bool) -> None:
        super().__init__()
        kind = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[cell]
        self.cells = kind(features, hidden, layers, batch_first=True, bidirectional=both_ways)

    def forward(self, x: Tensor) -> Tensor:
        return self.cells(x)[0]


def cases() -> Iterator[Row]:
    """A case as plain JSON: a network's kind and sizes, the dtype, and whether it trains."""
    recurrent = [
        ("lstm", 256, 256, 1, False, 64, 128),
        ("lstm", 512, 512, 2, False, 32, 256),
        ("lstm", 128, 1024, 1, False, 128, 64),
        ("gru", 512, 512, 2, False, 32, 256),
        ("lstm", 256, 512, 2, True, 64, 100),
        ("gru", 256, 256, 1, True, 64, 128),
        ("rnn", 512, 512, 1, False, 64, 128),
        ("lstm", 64, 64, 3, False, 256, 512),
        ("lstm", 1024, 1024, 4, False, 16, 64),
    ]
    pictures = [(32, 3, 8, 256), (16, 4, 4, 256), (64, 4, 2, 128), (32, 3, 1, 512), (64, 3, 16, 96)]
    for dtype, training in itertools.product(("fp32", "fp16", "bf16"), (True, False)):
        for cell, features, hidden, layers, both_ways, batch, steps in recurrent:
            yield {
                "kind": "recurrent",
                "dtype": dtype,
                "training": training,
                "cell": cell,
                "features": features,
                "hidden": hidden,
                "layers": layers,
                "both_ways": both_ways,
                "batch": batch,
                "steps": steps,
            }
        for width, depth, batch, side in pictures:
            for last in (False, True):
                yield {
                    "kind": "unet",
                    "dtype": dtype,
                    "training": training,
                    "width": width,
                    "depth": depth,
                    "batch": batch,
                    "side": side,
                    "last": last,
                }


def step_of(case: Row, device: str) -> Callable[[], object]:
    """A step of the case: forward, and backward if it trains."""
    torch.manual_seed(0)
    with torch.device(device):
        if case["kind"] == "unet":
            module: nn.Module = SmallUNet(case["width"], case["depth"])
            x = torch.randn(case["batch"], 3, case["side"], case["side"])
        else:
            sizes = (case[key] for key in ("features", "hidden", "layers", "both_ways"))
            module = Sequences(case["cell"], *sizes)
            x = torch.randn(case["batch"], case["steps"], case["features"])
    dtype = DTYPES[case["dtype"]]
    module, x = module.to(dtype).train(case["training"]), x.to(dtype)
    if case.get("last"):
        module = module.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        x = x.to(memory_format=torch.channels_last)

    def step() -> None:
        if not case["training"]:
            with torch.no_grad():
                module(x)
            return
        module(x).square().mean().backward()
        module.zero_grad()

    return step


def blocks() -> list[int]:
    """Bytes allocated (+) and freed (−) since the history began, in order."""
    sign = {"alloc": 1, "free_completed": -1}
    trace = torch.cuda.memory._snapshot()["device_traces"][0]  # pyright: ignore
    return [sign[e["action"]] * e["size"] for e in trace if e["action"] in sign]


def measured(case: Row) -> Row:
    """The case and the memory of its step, after three runs."""
    gc.collect()
    torch.cuda.empty_cache()
    begin = torch.cuda.memory_allocated()
    step = step_of(case, "cuda")
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.memory._record_memory_history("all", None, max_entries=100_000)  # pyright: ignore
    step()
    torch.cuda.synchronize()
    history = blocks()
    torch.cuda.memory._record_memory_history(None)  # pyright: ignore
    return {
        "case": case,
        "begin_bytes": begin,
        "before_bytes": before,
        "blocks": history,
        "peak_bytes": torch.cuda.max_memory_allocated(),
        "after_bytes": torch.cuda.memory_allocated(),
    }


def main() -> None:
    """Measure case after case until the time limit; a case that fails leaves a line with the
    reason."""
    parser = argparse.ArgumentParser(description="memory of recurrent layers and small U-Nets")
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    until = time.perf_counter() + options.seconds
    with options.file.open("w") as file:
        header = {**versions(), "gpu": torch.cuda.get_device_name()}
        file.write(json.dumps({"header": header}) + "\n")
        for case in cases():
            if time.perf_counter() > until:
                break
            try:
                row = measured(case)
            except Exception as error:  # the next case may fit
                row = {"case": case, "failed": f"{type(error).__name__}: {str(error)[:300]}"}
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
            file.flush()


if __name__ == "__main__":
    main()

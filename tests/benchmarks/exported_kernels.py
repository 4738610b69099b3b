"""Exported kernels, checked and timed on a GPU.

python -m tests.benchmarks.exported_kernels write FOLDER   # without a GPU
python tests/benchmarks/exported_kernels.py run FOLDER     # on a GPU; needs only torch and Triton
"""

from __future__ import annotations

import runpy
import subprocess
import sys
import traceback
from pathlib import Path
from time import perf_counter

KERNELS = {
    "gelu": "bert-base --batch 32 --seq 128 --dtype bf16 --group gelu",
    "add_layer_norm": "bert-base --batch 32 --seq 128 --dtype bf16 --group add+native_layer_norm",
    "swiglu": "llama3-8b --batch 4 --seq 512 --dtype bf16 --group silu+mul",
    "add_rms_norm": "llama3-8b --batch 4 --seq 512 --dtype bf16 --group add+fused_rms_norm",
    "rotary": "llama3-8b --batch 4 --seq 512 --dtype bf16 "
    "--group arange+to_copy+mul+cat+cos+sin+neg+add",
    "softmax": "t5-base --batch 16 --seq 256 --dtype bf16 --group to_copy+softmax",
    "batch_norm": "resnet50 --batch 32 --dtype fp16 --group native_batch_norm+relu",
    "gelu_backward": "gpt2 --batch 8 --seq 512 --dtype bf16 --train --group gelu_backward",
    "layer_norm_backward": "gpt2 --batch 8 --seq 512 --dtype bf16 --train "
    "--group to_copy+native_layer_norm_backward+add+native_dropout_backward",
    "log_of_sums": "gpt2 --batch 8 --seq 512 --dtype bf16 --train "
    "--group to_copy+amax+sub+exp+sum+log",
}


def write(folder: Path) -> None:
    """Export them all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, question in KERNELS.items():
        command = [sys.executable, "-m", "app.cli", "export-kernel", *question.split()]
        subprocess.run([*command, "--force", "-o", str(folder / f"{name}.py")], check=False)


def run(folder: Path) -> None:
    """Check and time the kernels of a folder in one process; exit with status 1 if one is wrong."""
    wrong = 0
    for path in sorted(folder.glob("*.py")):
        began = perf_counter()
        print(f"== {path.stem}", flush=True)
        try:
            exported = runpy.run_path(str(path), run_name="exported")
            exported["check"]()
            exported["benchmark"]()
        except Exception:
            wrong += 1
            traceback.print_exc(limit=4, file=sys.stdout)
        print(f"({perf_counter() - began:.1f} s)", flush=True)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    {"write": write, "run": run}[sys.argv[1]](Path(sys.argv[2]))

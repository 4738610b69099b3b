"""Compare training steps over several GPUs with llm-foundry's published throughput.

`python -m calibration.validate.published_training FOLDER` reads `training_throughput.csv.gz` of a
folder of public tables (mosaicml/llm-foundry, Apache-2.0): MPT networks on 8 to 128 A100s, FSDP
with all weights sharded. The catalogue's GPT-2 with the sizes of each network stands for them: MPT
has ALiBi instead of learned positions, no biases, and flash attention from its own package. The
nodes are assumed to have a NIC of 200 Gb/s for each GPU. Gradient accumulation repeats all of the
step but the optimizer. No fit uses these rows.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from calibration.outcome import Outcome, summary, table
from calibration.validate.published_rows import read
from simulator.cluster.step import NetworkStep
from simulator.errors import InputError
from simulator.parallel.predict_step import predict_network
from simulator.parallel.prediction import ParallelPrediction

SIZES = {
    "mpt-125m": (768, 12, 12), "mpt-350m": (1024, 24, 16), "mpt-760m": (1536, 24, 12),
    "mpt-1b": (2048, 24, 16), "mpt-3b": (2560, 32, 20), "mpt-7b": (4096, 32, 32),
    "mpt-13b": (5120, 40, 40), "mpt-30b": (7168, 48, 56), "mpt-70b": (8192, 80, 64),
}  # fmt: skip
"""Width, layers and heads (scripts/train/yamls/pretrain of llm-foundry)."""
VOCABULARY = 50368
CARDS = {"a100_40gb": "a100_sxm_40", "a100_80gb": "a100_sxm_80"}
_CLUSTER = """name = "{gpus} × {card}"
gpu = "{card}"
nodes = {nodes}
gpus_per_node = 8

[link]
kind = "nvlink"
generation = 3
bandwidth_gbytes_per_s = 300
topology = "nvswitch"
source = "NVIDIA A100 data sheet: NVLink 3, 600 GB/s both directions"
"""
_NETWORK = """
[network]
kind = "roce"
bandwidth_gbits_per_s = 200
nics_per_gpu = 1
source = "assumed"
"""

Row = dict[str, str]


def predicted(row: Row, cluster: Path) -> ParallelPrediction:
    """The step of a row's micro-batch, with the optimizer."""
    width, layers, heads = SIZES[row["model"]]
    seq = int(row["seq_len"])
    sizes = {"width": width, "layers": layers, "heads": heads, "vocab": VOCABULARY}
    step = NetworkStep(
        "gpt2", int(row["mbs"]), seq, "bf16", True, "adamw", {**sizes, "positions": seq}
    )
    recomputes = "Activation Checkpointing=True" in row["options"]
    return predict_network(step, "fsdp recompute" if recomputes else "fsdp", f"{cluster}")


def rate(p: ParallelPrediction, row: Row) -> float:
    """Tokens per second and GPU, with the accumulation of gradients."""
    kernels = p.ranks[0].kernels
    update_s = sum(kernel.duration_s for kernel in kernels if kernel.phase == "optimizer")
    times = int(row["ga"] or 1)
    tokens = int(row["mbs"]) * int(row["seq_len"]) * times
    return tokens / (times * (p.period_s - update_s) + update_s)


def outcomes(rows: list[Row], folder: Path) -> Iterator[Outcome]:
    """Each row's time per token, predicted over measured."""
    for row in rows:
        gpus = int(row["n_gpus"])
        cluster = folder / f"{row['gpu']}_{gpus}.toml"
        text = _CLUSTER.format(gpus=gpus, card=CARDS[row["gpu"]], nodes=gpus // 8)
        cluster.write_text(text + (_NETWORK if gpus > 8 else ""))
        try:
            p = predicted(row, cluster)
        except InputError as error:
            print(f"left out: {row['model']} on {gpus}: {str(error)[:100]}", flush=True)
            continue
        each = float(row["tokens_per_s_per_gpu"])
        ratio = each / rate(p, row)
        low, high = (end / p.period_s * ratio for end in p.interval_s)
        case = f"{row['model']}, {gpus} × {row['gpu']}, {row['mbs']} × {row['seq_len']}"
        print(f"{case}: {ratio:.2f}", flush=True)
        group = f"{row['gpu']}, {'one node' if gpus <= 8 else 'several nodes'}"
        yield Outcome(case, group, "time per token", ratio, low <= 1 <= high)


def main() -> None:
    """Print predicted over measured time per token of each row, and a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    rows = [r for r in read(options.folder / "training_throughput.csv.gz") if r["model"] in SIZES]
    with tempfile.TemporaryDirectory() as folder:
        print(table(summary([*outcomes(rows, Path(folder))])))


if __name__ == "__main__":
    main()

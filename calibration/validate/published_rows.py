"""Rows of published closed loops: the properties of a run, and whether a plan represents it."""

from __future__ import annotations

import csv
import gzip
import re
from pathlib import Path
from typing import NamedTuple

from calibration.validate.cached_prompts import Cycle
from simulator.hardware.gpu import gpu
from simulator.planning.spec import SPLITS
from simulator.planning.step.traced_step import can_divide_experts

NETWORKS = {
    "meta-llama/Llama-3.1-70B": ("llama3-70b", "fp8", 0.8),
    "nvidia/Llama-3.1-8B-Instruct-FP8": ("llama3-8b", "", 1.0),
    "openai/gpt-oss-120b": ("gpt-oss-120b", "", 0.8),
    "MiniMaxAI/MiniMax-M2.5": ("minimax-m2", "", 0.8),
    "deepseek-ai/DeepSeek-R1": ("deepseek-v3", "fp8", 0.8),
    "deepseek-ai/DeepSeek-V3": ("deepseek-v3", "fp8", 0.8),
}
"""By a model's name in the tables: the catalogue's network, the precision of the cache ("" for the
plain one) and the smallest share of the stated lengths that is drawn."""
PRECISIONS = {"fp8": "fp8", "fp4": "nvfp4"}
"""Precisions of plans, by the names in the tables."""

_SETTINGS = (
    "backend", "system", "precision", "mode", "isl", "osl", "silicon_ttft_ms",
    "silicon_tpot_ms",
)  # fmt: skip


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a gzipped CSV."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Layout(NamedTuple):
    """How `gpus` share a replica: by tensor parallelism, or with whole experts on each (`experts`),
    possibly with separate sequences on each (`sequences`)."""

    gpus: int = 1
    experts: bool = False
    sequences: bool = False

    @property
    def name(self) -> str:
        """A suffix for labels, such as ", tp=8", ", tp=8 ep" or ", dp=8 ep"; empty for one GPU."""
        if self.gpus == 1:
            return ""
        way = "dp" if self.sequences else "tp"
        return f", {way}={self.gpus}{' ep' if self.experts else ''}"


ALONE = Layout()


def layout(row: dict[str, str]) -> Layout | None:
    """How the GPUs of a row share the replica; None for any other layout."""
    tp, dp, part, whole = (
        int(row.get(name, "") or 1)
        for name in ("tp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size")
    )
    if whole == dp == 1:
        return Layout(tp)
    if part == 1 and whole == tp * dp and 1 in (tp, dp):
        return Layout(whole, True, dp > 1)
    return None


def run(row: dict[str, str]) -> tuple[str, ...]:
    """The fields that are equal in all rows of one run: settings and measured times. Several files
    list the same runs."""
    network = NETWORKS[row["model_path"]][0]
    return network, *(row[name] for name in _SETTINGS), str(clients_of(row)), str(layout(row))


def clients_of(row: dict[str, str]) -> int:
    match = re.search(r"silicon_concurrency=(\d+)", row["silicon_data_source"])
    return int(match[1]) if match else int(row["batch_size"])


def benchmark(row: dict[str, str]) -> str:
    return re.sub(r"silicon_concurrency=\d+", "", row["silicon_data_source"])


def highest_rates(path: Path) -> dict[tuple[str, str], float]:
    """The highest FLOP/s of any product, by card and precision, from a table of searches over
    shapes (stas00/ml-engineering, CC-BY-SA); empty without the table."""
    if not path.is_file():
        return {}
    return {
        (row["gpu"].removeprefix("NVIDIA ").replace(" ", "_").lower(), row["dtype"]): 1e12
        * float(row["mamf_tflops"])
        for row in read(path)
    }


def cycle(row: dict[str, str], highest: dict[tuple[str, str], float]) -> Cycle:
    """The cycle of a row, whose products reach the highest rate that was measured, or else the
    data sheet's peak."""
    network, _, least = NETWORKS[row["model_path"]]
    card, precision = gpu(row["system"]), row["precision"]
    peak = card.peak("tensor", precision) or card.peak("tensor", "bf16") or float("inf")
    mean = (1 + least) / 2
    return Cycle(
        benchmark(row),
        network,
        int(row["tp_size"]) * int(row.get("attention_dp_size") or 1),
        highest.get((row["system"], precision), peak),
        clients_of(row),
        mean * int(row["isl"]),
        mean * int(row["osl"]),
        float(row["silicon_ttft_ms"]) / 1e3,
        float(row["silicon_tpot_ms"]) / 1e3,
    )


def unplanned(row: dict[str, str]) -> str:
    """The reason why no plan represents a row, or an empty string."""
    if row["model_path"] not in NETWORKS:
        return f"{row['model_path']}: no network of the catalogue"
    if row["mode"] != "agg":
        return "prefill and decode on separate GPUs"
    if int(row["tp_size"]) not in SPLITS or row["pp_size"] != "1":
        return f"plans do not cover tp={row['tp_size']} pp={row['pp_size']}"
    shared = layout(row)
    if shared is None or shared.gpus not in SPLITS:
        return "plans do not cover this division of experts and sequences among GPUs"
    network = NETWORKS[row["model_path"]][0]
    if shared.experts and not can_divide_experts(network):
        return f"plans do not cover whole experts of {network} on each GPU"
    return "" if row["precision"] in PRECISIONS else f"plans do not cover {row['precision']}"

"""Compare the power and the energy of simulated servers with ML.ENERGY's: `python -m
calibration.validate.published_energy FOLDER`.

FOLDER holds `energy.csv.gz` (ML.ENERGY v3, Apache-2.0): one row per run of vLLM with at most
`max_num_seqs` sequences, whose clients always wait. Its joules per token are the power of all GPUs
divided by the output tokens per second. The lengths of prompts are not published: 200 tokens are
assumed for its questions and chats. Rows that no network of the catalogue represents are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from calibration.validate.closed_loop import closed_loop
from calibration.validate.published_rows import read
from simulator.hardware.gpu import gpu
from simulator.planning.server.scheduler import Rules
from simulator.planning.spec import Workload
from simulator.planning.step.tables import Machine, machine
from simulator.scenario.trace_source import keep_on_disk

PROMPT = 200
NETWORKS = {
    "meta-llama/Llama-3.1-70B-Instruct": "llama3-70b",
    "Qwen/Qwen3-30B-A3B-Instruct-2507": "qwen3-30b",
    "openai/gpt-oss-120b": "gpt-oss-120b",
}
_TASKS = ("gpqa", "lm-arena-chat")
_CARDS = {"H100": "h100_sxm", "B200": "b200_sxm"}
_PRECISIONS = {"bfloat16": "bf16", "fp8": "fp8", "mxfp4": "nvfp4"}
_BUDGET, _MOST, _MEMORY = 8192, 1024, 0.9
FIGURES = ("time per token", "tokens/s", "watts", "joules per token")


@dataclass(frozen=True)
class Compared:
    """A published run with its predicted over its measured figures, in the order of `FIGURES`."""

    group: str
    sequences: int
    ratios: tuple[float, ...]


@cache
def server(network: str, card: str, precision: str, gpus: int) -> Machine:
    """The replica of a row."""
    work = Workload("serving", network, token_budget=_BUDGET, max_requests=_MOST)
    return machine(work, gpu(card), precision, "vllm", gpus)


def runs(path: Path) -> Iterator[Compared]:
    """Each run of at most 1,024 sequences."""
    for row in read(path):
        sequences = int(row["max_num_seqs"] or 0)
        if row["task"] not in _TASKS or row["model_id"] not in NETWORKS or sequences > _MOST:
            continue
        network, card = NETWORKS[row["model_id"]], _CARDS[row["gpu_model"]]
        gpus = int(row["num_gpus"])
        one = server(network, card, _PRECISIONS[row["weight_precision"]], gpus)
        measured = (
            float(row["median_itl_ms"]) * 1e-3,
            float(row["output_throughput_tokens_per_sec"]),
            float(row["avg_power_watts"]),
            float(row["energy_per_token_joules"]),
        )
        answer = round(float(row["avg_output_len"]))
        values = predicted(one, card, sequences, answer)
        ratios = tuple(p / m for p, m in zip(values, measured, strict=True))
        yield Compared(f"{network}, {row['gpu_model']} × {gpus}", sequences, ratios)


def predicted(one: Machine, card: str, sequences: int, answer: int) -> tuple[float, ...]:
    """The figures of a closed loop. The card is always busy. The time of prompts is that of the
    mean iteration minus that of an iteration without prompts."""
    rules = Rules(_BUDGET, _MOST, one.cache_tokens(gpu(card), _MEMORY))
    loop = closed_loop(one.step, rules, sequences, PROMPT, answer)
    batch = min(loop.tokens_per_s * loop.per_token_s, sequences)
    alone_s = one.step.decode(round(batch), batch * (PROMPT + answer / 2))
    prompt_share = max(0.0, 1 - alone_s / loop.per_token_s)
    watts = one.busy_w(batch, PROMPT, prompt_share) * one.gpus
    return alone_s, loop.tokens_per_s, watts, watts / loop.tokens_per_s


def summary(rows: list[Compared]) -> Iterator[str]:
    """A table of errors by network and card, and over all runs."""
    yield "| runs | number | figure | median error | p90 | bias | worst |"
    yield "|--|--|--|--|--|--|--|"
    groups: dict[str, list[Compared]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    for name, own in [*sorted(groups.items()), ("all", rows)]:
        for i, figure in enumerate(FIGURES):
            ratios = np.array([row.ratios[i] for row in own])
            errors = np.abs(ratios - 1)
            middle, high = np.quantile(errors, (0.5, 0.9))
            worst = int(np.argmax(errors))
            yield (
                f"| {name} | {len(own)} | {figure} | {middle:.0%} | {high:.0%} | "
                f"{np.median(ratios) - 1:+.0%} | {ratios[worst]:.2f} at {own[worst].sequences} "
                "sequences |"
            )


def main(folder: str) -> None:
    """Print errors by network and card."""
    keep_on_disk()
    for line in summary(list(runs(Path(folder) / "energy.csv.gz"))):
        print(line)


if __name__ == "__main__":
    main(sys.argv[1])

"""Compare simulated servers with published tables: `python -m
calibration.validate.published_serving FOLDER`.

FOLDER holds, gzipped, `serving_requests.csv`: one row per request, with gpu, model, input_tokens,
output_tokens, arrival_s, ttft_ms, tpot_ms, last_token_s and engine_kwargs as JSON; `serving.csv`
and `mlperf_inference.csv` as `published_loops` reads them. Missing tables are left out. Models that
no network of the catalogue represents are left out by name. Replicas over several GPUs (tensor
parallelism) are summarised separately from those on one card.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from calibration.validate.published_loops import (
    Compared,
    kendall,
    loops,
    read,
    repeated,
    submissions,
)
from simulator.hardware.gpu import gpu
from simulator.planning.server.requests import Requests
from simulator.planning.server.scheduler import Rules, serve
from simulator.planning.spec import Workload
from simulator.planning.step.tables import machine
from simulator.scenario.trace_source import keep_on_disk

_NETWORKS = {"meta-llama/Llama-3.1-8B": "llama3-8b"}


def main(folder: str) -> None:
    """Print errors by table, and a line for each server whose requests are known."""
    keep_on_disk()
    tables = Path(folder)
    left_out: dict[str, int] = {}
    compared_rows: list[Compared] = []
    if (tables / "serving.csv.gz").is_file():
        compared_rows += loops(tables / "serving.csv.gz", left_out)
    if (tables / "mlperf_inference.csv.gz").is_file():
        compared_rows += submissions(tables / "mlperf_inference.csv.gz")
    for line in summary(compared_rows, left_out):
        print(line)
    if (tables / "serving_requests.csv.gz").is_file():
        requests(read(tables / "serving_requests.csv.gz"))


def summary(rows: list[Compared], left_out: dict[str, int]) -> Iterator[str]:
    """A table of errors by table and figure, the ranking of cards, and the rows left out."""
    yield "| table | figure | runs | median error | p90 | bias | in the 80% interval |"
    yield "|--|--|--|--|--|--|--|"
    groups: dict[tuple[str, str], list[Compared]] = {}
    for row in rows:
        groups.setdefault((row.table, row.figure), []).append(row)
        groups.setdefault(("all" if row.split == 1 else "all, tp", row.figure), []).append(row)
    for (table, figure), own in sorted(groups.items()):
        middle, high = np.quantile([row.error for row in own], (0.5, 0.9))
        bias = float(np.median([row.predicted / row.measured for row in own])) - 1
        inside = np.mean([row.covered for row in own])
        yield (
            f"| {table} | {figure} | {len(own)} | {middle:.0%} | {high:.0%} | {bias:+.0%} | "
            f"{inside:.0%} |"
        )
    for fitted, half in ((True, "fitted"), (False, "held out")):
        own = [
            row.covered
            for row in rows
            if row.table.startswith("vllm, llama3-70b")
            and row.figure == "time per token"
            and row.fitted == fitted
        ]
        if own:
            inside = np.mean(own)
            yield f"vLLM 70B, time per token, half {half}: {inside:.0%} of {len(own)} runs inside"
    spread = repeated([row for row in rows if row.figure == "tokens/s"])
    for name, split in (("", False), (", tp", True)):
        own = [row for row in rows if row.figure == "tokens/s" and (row.split > 1) == split]
        if own or not split:
            tau, pairs = kendall(own)
            yield f"ranking of cards by tokens/s{name}: Kendall's tau {tau:.2f} of {pairs} pairs"
            if spread > 0:
                tau, pairs = kendall(own, spread)
                yield (
                    f"… of pairs that differ by more than {spread:.1%}, the 80th percentile "
                    f"between runs of one release on one card: {tau:.2f} of {pairs} pairs"
                )
    for why, count in sorted(left_out.items()):
        yield f"left out, {count} runs: {why}"


def requests(rows: list[dict[str, str]]) -> None:
    """Print a line for each server of a table of requests."""
    servers: dict[tuple[str, str, str, str], list[dict[str, str]]] = {}
    for row in rows:
        key = row["gpu"], row["model"], row["tp"], row["engine_kwargs"]
        servers.setdefault(key, []).append(row)
    for (card, model, tp, options), own in servers.items():
        if model not in _NETWORKS or tp != "1":
            print(f"{card}, {model}, tp {tp}: left out, no network or several GPUs")
            continue
        print(f"{card}, {model}: {compared(card, model, json.loads(options), own)}")


def compared(card: str, model: str, options: dict[str, int], rows: list[dict[str, str]]) -> str:
    """Print the simulated and published figures of one server."""
    rows = sorted(rows, key=lambda row: float(row["arrival_s"]))
    figures = {
        name: np.array([float(row[name]) for row in rows])
        for name in (
            "arrival_s",
            "input_tokens",
            "output_tokens",
            "ttft_ms",
            "tpot_ms",
            "last_token_s",
        )
    }
    device = gpu(card.lower())
    budget, most = options["max_num_batched_tokens"], options["max_num_seqs"]
    work = Workload("serving", _NETWORKS[model], token_budget=budget, max_requests=most)
    one = machine(work, device, "bf16", "vllm")
    output = figures["output_tokens"].astype(int)
    load = Requests(figures["arrival_s"], figures["input_tokens"].astype(int), output)
    served = serve(load, one.step, Rules(budget, most, one.cache_tokens(device, 0.9)))
    token_ms = (served.last_s - served.first_s) / np.maximum(output - 1, 1) * 1e3
    error = np.abs(token_ms / figures["tpot_ms"] - 1)
    return (
        f"time per token {token_ms.mean():.1f} ms, measured {figures['tpot_ms'].mean():.1f}, error "
        f"{np.median(error):.0%} median, {np.quantile(error, 0.9):.0%} p90; first token "
        f"{served.first_s.mean():.1f} s, measured {figures['ttft_ms'].mean() / 1e3:.1f}; all done "
        f"in {served.end_s:.0f} s, measured {figures['last_token_s'].max():.0f}"
    )


if __name__ == "__main__":
    main(sys.argv[1])

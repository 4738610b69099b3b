"""Compare simulated servers with published ones at a given concurrency, and with MLPerf's.

`serving.csv.gz` holds closed loops of InferenceMAX and others (ai-dynamo/aiconfigurator,
Apache-2.0): one row per run, with its engine, card, lengths and mean time per token. InferenceMAX
draws lengths uniformly between 80% and 100% of the stated ones and keeps the cache in fp8.
`mlperf_inference.csv.gz` holds submissions (MLCommons, Apache-2.0), of which those of Llama 3.1 8B
on one card are compared. Their data set is CNN/DailyMail: prompts have 778 tokens on average
(MLCommons, Inference v5.1), answers 128 tokens according to the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache as cached
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import numpy as np

from calibration.validate.cached_prompts import impossible
from calibration.validate.closed_loop import closed_loop
from calibration.validate.published_rows import (
    ALONE,
    NETWORKS,
    PRECISIONS,
    Layout,
    benchmark,
    clients_of,
    cycle,
    highest_rates,
    layout,
    read,
    run,
    unplanned,
)
from simulator.hardware.gpu import gpu
from simulator.planning.server.requests import Requests
from simulator.planning.server.scheduler import Rules, serve
from simulator.planning.spec import Workload
from simulator.planning.step.step_time import StepTime
from simulator.planning.step.tables import machine

BUDGET, MOST, MEMORY = 8192, 256, 0.9
ENGINES = {"vllm": "vllm", "trtllm": "tensorrt-llm", "sglang": "vllm"}
"""The engine of plans that represents each engine of the tables."""
_MOST_CLIENTS = 1024  # maximum sequences of a server for more than `MOST` clients
_CARDS = {"NVIDIA H100-SXM-80GB": "h100_sxm", "NVIDIA L40S": "l40s"}
_PROMPT, _ANSWER = 778, 128


@dataclass(frozen=True)
class Compared:
    """A figure of a published run: its predicted value, the limits that follow from the step's
    interval, and its measured value. `case` is common to runs that differ only in their card;
    `split` is the number of GPUs that share a replica, `release` that of the engine."""

    table: str
    figure: str
    case: str
    card: str
    predicted: float
    low: float
    high: float
    measured: float
    split: int = 1
    release: str = ""

    @property
    def error(self) -> float:
        return abs(self.predicted / self.measured - 1)

    @property
    def fitted(self) -> bool:
        """Whether this case is in the half that the spread of engines is fitted to."""
        return sha256(f"{self.card} {self.case}".encode()).digest()[0] % 2 == 0

    @property
    def covered(self) -> bool:
        return self.low <= self.measured <= self.high


@cached
def server(
    network: str,
    card: str,
    cache: str,
    layout: Layout = ALONE,
    precision: str = "fp8",
    most: int = MOST,
    engine: str = "vllm",
) -> tuple[StepTime, Rules]:
    """The step and the rules of an engine, for `most` sequences at once."""
    own = gpu(card)
    work = Workload(
        "serving",
        network,
        token_budget=BUDGET,
        max_requests=most,
        kv_precision=cache,
        expert_parallel=layout.experts,
        attention_dp=layout.sequences,
    )
    one = machine(work, own, precision, engine, layout.gpus)
    return one.step, Rules(BUDGET, most, one.cache_tokens(own, MEMORY))


def loops(path: Path, left_out: dict[str, int]) -> Iterator[Compared]:
    """Each closed loop of one replica in fp8 or nvfp4. Other rows, and those of benchmarks that
    `cached_prompts` finds impossible, are counted in `left_out`."""
    rows = read(path)
    highest = highest_rates(path.with_name("mamf_stas.csv.gz"))
    cached_prompts = impossible(cycle(row, highest) for row in rows if not unplanned(row))
    counted: set[tuple[str, ...]] = set()
    for row in rows:
        why = unplanned(row)
        if not why and run(row) in counted:
            why = "the same run as another row's"
        elif not why:
            counted.add(run(row))
        if not why and benchmark(row) in cached_prompts:
            why = f"{row['model_path']}: faster than its products alone, so prompts were cached"
        if why:
            left_out[why] = left_out.get(why, 0) + 1
            continue
        network, cache, least = NETWORKS[row["model_path"]]
        shared = layout(row) or ALONE
        queues = shared.gpus if shared.sequences else 1
        clients = clients_of(row)
        own = -(-clients // queues)
        most = MOST if own <= MOST else min(own, _MOST_CLIENTS)
        prompt, output = int(row["isl"]), int(row["osl"])
        precision = PRECISIONS[row["precision"]]
        own_engine = ENGINES[row["backend"]]
        step, rules = server(network, row["system"], cache, shared, precision, most, own_engine)
        pairs = [
            closed_loop(step.scaled(times), rules, own, prompt, output, least)
            for times in (1.0, *step.ends(own))
        ]
        engine = row["backend"] + ("" if precision == "fp8" else f" {precision}")
        table = f"{engine}, {network}{shared.name}"
        case = f"{engine} {prompt} {output} {clients} {shared.gpus}"
        if shared.experts:
            case += shared.name
        measured_s = float(row["silicon_tpot_ms"]) / 1e3
        first_s = float(row["silicon_ttft_ms"]) / 1e3
        mean = (1 + least) / 2 * output
        # after the first token and the rest of a mean answer, a client sends its next request
        rate = clients * mean / (first_s + (mean - 1) * measured_s)
        for figure, values, truth in (
            ("time per token", [t.per_token_s for t in pairs], measured_s),
            ("first token", [t.first_token_s for t in pairs], first_s),
            ("tokens/s", [queues * t.tokens_per_s for t in pairs], rate),
        ):
            yield Compared(
                table, figure, case, row["system"], values[0], min(values), max(values), truth,
                shared.gpus, row.get("backend_version", ""),
            )  # fmt: skip


def submissions(path: Path) -> Iterator[Compared]:
    """MLPerf's Llama 3.1 8B on one card: tokens per second of all requests at once, and the mean
    time per token at the rate of the server scenario."""
    for row in read(path):
        if row["benchmark"] != "llama3.1-8b" or row["n_accelerators"] != "1":
            continue
        card = _CARDS[row["accelerator"]]
        step, rules = server("llama3-8b", card, "")
        offline = row["scenario"].lower() == "offline"
        rate = float(row["samples_per_s"])
        values = [_submitted(step.scaled(t), rules, rate, offline) for t in (1, *step.ends(MOST))]
        if offline:
            figure, truth = "tokens/s", float(row["tokens_per_s"])
        else:
            figure, truth = "latency", float(row["latency_mean_ns"]) * 1e-9
        yield Compared(
            "MLPerf, llama3-8b", figure, row["scenario"], card, values[0], min(values),
            max(values), truth,
        )  # fmt: skip


def _submitted(step: StepTime, rules: Rules, rate: float, offline: bool) -> float:
    count = 3000
    draw = np.random.default_rng(0)
    arrivals = np.zeros(count) if offline else np.cumsum(draw.exponential(1 / rate, count))
    load = Requests(arrivals, np.full(count, _PROMPT), np.full(count, _ANSWER))
    served = serve(load, step, rules)
    return count * _ANSWER / served.end_s if offline else float(np.mean(served.last_s))


def repeated(rows: list[Compared]) -> float:
    """The 80th percentile of |ln(a/b)| between measured runs with the same network, case, card and
    release; NaN without such runs."""
    differences = [
        abs(np.log(a.measured / b.measured))
        for a, b in combinations(rows, 2)
        if (a.table, a.case, a.card, a.release) == (b.table, b.case, b.card, b.release)
    ]
    return float(np.quantile(differences, 0.8)) if differences else float("nan")


def kendall(rows: list[Compared], beyond: float = 0.0) -> tuple[float, int]:
    """The rank correlation of cards (concordant minus discordant pairs, over all pairs of cards
    with the same case of the same network whose measured values differ by more than `beyond` in
    their logarithm), and the number of pairs."""
    signs: list[float] = []
    for a, b in combinations(rows, 2):
        if (a.table, a.case) == (b.table, b.case) and a.card != b.card:
            if beyond and abs(np.log(a.measured / b.measured)) <= beyond:
                continue
            signs.append(np.sign((a.predicted - b.predicted) * (a.measured - b.measured)))
    return (float(np.mean(signs)) if signs else float("nan")), len(signs)

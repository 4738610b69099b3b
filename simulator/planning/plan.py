"""Plan: read the spec, search candidates, rank them and vary the assumptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from simulator.hardware.gpu import gpu
from simulator.planning.assumptions import of_serving
from simulator.planning.batches.assumptions import of_batches
from simulator.planning.batches.search import search as search_batches
from simulator.planning.price_assumptions import of_unpriced
from simulator.planning.result import Assumption, Plan, Row
from simulator.planning.serve_search import SearchResult, search
from simulator.planning.server.replica import lengths
from simulator.planning.server.requests import requests
from simulator.planning.spec import Spec, adapted
from simulator.planning.spec_file import read
from simulator.planning.verdict import ranked, verdict
from simulator.planning.wording import amount, duration, latency


def plan(
    source: Path | str | Mapping[str, Any] | Spec,
    *,
    workers: int = 1,
    progress: Callable[[str], None] = lambda text: None,
    so_far: Callable[[Sequence[Row]], None] = lambda rows: None,
) -> Plan:
    """Plan from a TOML file, a link, or the mapping that such a file holds.

    `workers` processes share the candidate GPUs. `so_far` is called after each new candidate with
    all candidates tried so far, in no particular order; an error raised in `so_far` or `progress`
    ends the plan. Raises InputError if the spec cannot be read or contradicts itself.
    """
    began = perf_counter()
    spec = source if isinstance(source, Spec) else read(source)
    if spec.workload.requests_csv is not None:
        requests(spec, 0)  # raises for an invalid file before any slow work
    if spec.workload.kind == "serving":
        result = search(spec, workers, progress, so_far)
        figure, unit = f"time per token at {spec.limits.percentile:g}%", "tokens"
    else:
        result = search_batches(spec, progress, so_far)
        figure = "duration" if spec.workload.kind == "training" else "latency"
        if spec.workload.kind == "inference" and spec.rate_per_s is not None:
            figure += f" at {spec.limits.percentile:g}%"
        unit = "tokens" if spec.workload.tokens else "samples"
    rows = ranked(result.rows)
    progress("varying the assumptions")
    return Plan(
        spec.workload.kind,
        question(spec),
        verdict(spec, rows, result.pruned, result.shortages),
        rows,
        (*_assumptions(spec, rows, result), *of_unpriced(rows)),
        result.pruned,
        unit,
        figure,
        spec.prices.currency,
        perf_counter() - began,
    )


def _assumptions(spec: Spec, rows: tuple[Row, ...], result: SearchResult) -> list[Assumption]:
    best = next((row for row in rows if row.per_token_s is not None), None)
    if spec.workload.kind != "serving":
        return of_batches(spec, rows)
    if best is None or best.first_token_s is None:
        return []
    return of_serving(spec, best, gpu(best.gpu), result.machines[best.server])


def question(spec: Spec) -> str:
    """The spec as a sentence."""
    work, limits = spec.workload, spec.limits
    percent = f"{limits.percentile:g}%"
    bounds: list[str] = []
    for text, value in (
        (f"{percent} of tokens within", limits.per_token_s),
        (f"{percent} of first tokens within", limits.first_token_s),
        (
            f"{percent} of {'answers' if work.kind == 'serving' else 'samples'} within"
            if spec.rate_per_s is not None or work.kind == "serving"
            else "each batch within",
            limits.latency_s,
        ),
    ):
        if value is not None:
            bounds.append(f"{text} {latency(value)}")
    tail = f", {', '.join(bounds)}" if bounds else ""
    if work.kind == "serving":
        rate, prompt, output = lengths(spec)
        vary = any(each and each.kind != "fixed" for each in (work.prompt, work.output))
        mean = " on average" if vary or work.requests_csv is not None else ""
        return (
            f"Serve {work.network} to {amount(rate)} requests/s, prompts of {amount(prompt)} "
            f"tokens, answers of {amount(output)}{mean}{tail}"
        )
    if work.kind == "training":
        what = "tokens" if work.tokens else "samples"
        by = f", within {duration(limits.deadline_s)}" if limits.deadline_s else ""
        if work.lora_rank is not None:
            modules = ", ".join(adapted(work))
            tuned = f"{work.network} with LoRA of rank {work.lora_rank} at {modules}"
            return f"Fine-tune {tuned} on {amount(work.tokens or work.samples or 0)} {what}{by}"
        return f"Train {work.network} on {amount(work.tokens or work.samples or 0)} {what}{by}"
    rate = f" on {amount(spec.rate_per_s)} samples/s" if spec.rate_per_s else ""
    return f"Run {work.network}{rate}{tail}"

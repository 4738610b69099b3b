"""Words of a plan's page: its load in units, and a candidate's figures as cells."""

from __future__ import annotations

from pathlib import Path

from app.answers.plan.draft import Draft
from app.answers.plan.planned import Planned
from simulator.formats.numbers import short
from simulator.planning import Row
from simulator.planning.spec import Spec, adapted
from simulator.planning.wording import amount, duration, latency


def load_words(draft: Draft) -> str:
    """The load in units a second: "20,480 tokens a second in, 6,000 out"."""
    spec = draft.spec
    work = spec.workload
    if work.kind == "training":
        step = (work.batch or 0) * work.accumulation
        words = [f"{amount(step)} samples a step of one GPU"] if step else []
        if work.lora_rank is not None:
            words.append(f"LoRA of rank {work.lora_rank} at {', '.join(adapted(work))}")
        return "; ".join(words)
    if work.requests_csv is not None:
        return f"arrivals and lengths of {Path(work.requests_csv).name}"
    rate = spec.rate_per_s
    if rate is None or work.prompt is None or work.output is None:
        return "" if rate is None else f"{amount(rate * 3600)} samples an hour"
    into, out = amount(rate * work.prompt.mean), amount(rate * work.output.mean)
    return f"{into} tokens a second in, {out} out"


def empty_words(planned: Planned) -> str:
    """The text in place of the candidates before the first prediction."""
    return "Planning …" if planned.progress else "No plan yet"


def batch_queue_words(spec: Spec, row: Row) -> str:
    """The queue of a candidate that runs batches, in words."""
    if spec.workload.kind == "training":
        return "A training run has no queue: its batches are always full."
    if row.largest_batch is None:
        return "Without a rate there is no queue: batches are always full."
    if row.latency_s is None or row.batch is None:
        return f"{row.configuration} is not simulated: {row.reason}"
    window_s = spec.workload.batch_window_s
    how = f"waits up to {latency(window_s)} for a full batch" if window_s else "does not wait"
    return (
        f"{row.configuration}: a free GPU {how}. A batch has {amount(row.batch)} samples on "
        f"average and {row.largest_batch} at most. The GPU works {row.utilisation or 0.0:.0%} of "
        f"the time, and {spec.limits.percentile:g}% of the samples end within "
        f"{latency(row.latency_s)} of their arrival."
    )


def queue_words(planned: Planned) -> str:
    """The text in place of a service's queue before its plan is complete."""
    if planned.progress:
        return "The queue is simulated when the plan is complete."
    return planned.error or "No plan yet"


def is_preliminary(row: Row, complete: bool) -> bool:
    """Whether the rest of its plan may change the status of a candidate: the search simulates
    every server with few requests first, and the best ones again with all."""
    return not complete and row.first_token_s is not None


def status_words(row: Row, complete: bool = True) -> str:
    """Whether a candidate meets the limits, in words: "fits", "72% sure", "too slow"; "preliminary"
    while its plan is not `complete`, if the status may change."""
    if is_preliminary(row, complete):
        return "preliminary"
    if row.status == "uncertain" and row.chance is not None:
        return f"{row.chance:.0%} sure"
    return row.status


def figure_lines(spec: Spec, row: Row) -> list[tuple[str, str]]:
    """A candidate's figures with their names, each with its 80% interval."""
    unit = "tokens" if spec.workload.kind == "serving" or spec.workload.tokens else "samples"
    percent = f"{spec.limits.percentile:g}%"
    money = spec.prices.currency.text
    lines: list[tuple[str, str]] = []
    if row.usd_total is not None:
        lines.append(("Cost", money(row.usd_total)))
    elif row.usd_per_h is not None:
        million = row.usd_per_million
        each = "" if million is None else f", {money(million)} per million {unit}"
        lines.append(("Cost", f"{money(row.usd_per_h)} an hour{each}"))
    for name, value, span in (
        (f"Time per token, {percent}", row.per_token_s, row.per_token_interval_s),
        (f"First token, {percent}", row.first_token_s, row.first_token_interval_s),
    ):
        if value is not None:
            lines.append((name, latency(value, *(span or (None, None)))))
    if row.duration_s is not None:
        ends = row.duration_interval_s or (None, None)
        lines.append(("Takes", duration(row.duration_s, *ends)))
    elif row.per_token_s is None and row.latency_s is not None:
        ends = row.latency_interval_s or (None, None)
        name = "A batch takes" if row.largest_batch is None else f"Latency, {percent}"
        lines.append((name, latency(row.latency_s, *ends)))
    if row.batch is not None:
        most = "" if row.largest_batch is None else f" on average, at most {row.largest_batch}"
        lines.append(("Batch", f"{short(row.batch, 3)}{most}"))
    if row.largest_rate_per_s is not None:
        lines.append(("Carries at most", f"{short(row.largest_rate_per_s, 3)} a second"))
    if row.memory_share is not None:
        lines.append(("Memory", f"{row.memory_share:.0%} of the card"))
    if row.reason:
        lines.append(("Limits", row.reason))
    return lines

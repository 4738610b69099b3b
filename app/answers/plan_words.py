"""Words of a plan's page: what its load means, and a candidate's figures as cells."""

from __future__ import annotations

from pathlib import Path

from app.answers.plan_draft import Draft
from simulator.planning import Row
from simulator.planning.wording import amount


def load_words(draft: Draft) -> str:
    """The load in units a second: "20,480 tokens a second in, 6,000 out"."""
    spec = draft.spec
    work = spec.workload
    if work.kind == "training":
        step = (work.batch or 0) * work.accumulation
        return f"{amount(step)} samples a step of one GPU" if step else ""
    if work.requests_csv is not None:
        return f"arrivals and lengths of {Path(work.requests_csv).name}"
    rate = spec.rate_per_s
    if rate is None or work.prompt is None or work.output is None:
        return "" if rate is None else f"{amount(rate * 3600)} samples an hour"
    into, out = amount(rate * work.prompt.mean), amount(rate * work.output.mean)
    return f"{into} tokens a second in, {out} out"


def status_words(row: Row) -> str:
    """Whether a candidate holds the limits: "fits", "72% sure", "too slow"."""
    if row.status == "uncertain" and row.chance is not None:
        return f"{row.chance:.0%} sure"
    return row.status

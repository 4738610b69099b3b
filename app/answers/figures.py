"""The figures and sentences of a report: sums and ratios over the kernels of a prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.answers.groups import short_dtype
from app.answers.kernel_times import OWN_FIGURES, has_own_figures
from app.answers.subject import NO_EXACT_ANSWER, Subject
from app.quantities import number, percent, seconds, seconds_unit
from simulator.prediction import REGIMES, Prediction, Regime, Shares
from simulator.records import Role
from simulator.timing.rates import roof_flops_per_s

PRODUCTS = ("gemm", "gemv", "conv", "attention", "rnn")
"""Families whose FLOPs count as model FLOPs: every form of matrix product."""

ROLES: dict[Role, str] = {
    "weight": "weights", "buffer": "buffers", "gradient": "gradients",
    "optimizer": "optimizer state", "activation": "activations", "input": "inputs",
}  # fmt: skip


@dataclass(frozen=True)
class Totals:
    """Rates of a step. `utilisation` is the time that the matrix products would take at the peaks
    of their engines, divided by the period; pairs that a mask excludes do not count. `engine` and
    `peak_flops_per_s` belong to the engine that does most of the FLOPs."""

    samples_per_s: float
    tokens_per_s: float | None
    product_flops: int
    utilisation: float
    engine: str
    peak_flops_per_s: float
    busy_share: float
    gaps_s: float


def title(p: Prediction, subject: Subject) -> str:
    """The subject of a prediction: "bert-base, batch 16 × 128, fp32, inference on NVIDIA H200"."""
    batch = f"batch {subject.batch}" + (f" × {subject.seq}" if subject.seq else "")
    phase = p.trace.phase
    if phase == "training":
        phase += f" ({p.trace.optimizer})" if p.trace.optimizer else " (no optimizer)"
    named = any(word.startswith(("+cuda_graph", "+mode")) for word in subject.whatifs)
    mode = "" if p.mode == "eager" or named else f", {p.mode.replace('_', ' ')}"
    changes = f", {' '.join(subject.whatifs)}," if subject.whatifs else ""
    return f"{subject.name}, {batch}, {subject.dtype}, {phase}{mode}{changes} on {gpu_name(p)}"


def gpu_name(p: Prediction) -> str:
    """The GPU's name with its vendor first."""
    vendor = p.gpu.vendor or ""
    return p.gpu.name if p.gpu.name.startswith(vendor) else f"{vendor} {p.gpu.name}"


def verdict(p: Prediction, subject: Subject) -> str:
    """The verdict in one sentence."""
    step = step_sentence(p.period_s, p.interval_s, p.regime, p.shares)
    return f"{title(p, subject)}: {step}{_missing(p)}{_by_rules(p)}"


def step_sentence(
    period_s: float, interval_s: tuple[float, float], regime: Regime, shares: Shares
) -> str:
    """A step's time and regime, with two digits because the uncertainty exceeds the third."""
    scale, unit = seconds_unit(period_s, 2)
    low, high = (number(bound / scale, 2) for bound in interval_s)
    parts = ", ".join(f"{percent(shares[r])} {r}" for r in REGIMES)
    return (
        f"{number(period_s / scale, 2)} {unit} a step (80%: {low} to {high}), "
        f"{regime}-bound ({parts})"
    )


def _by_rules(p: Prediction) -> str:
    """The part of the verdict that reports that --exact fell back to rules."""
    by_rules = any(note.startswith(NO_EXACT_ANSWER) for note in p.notes)
    return "; fused by rules, not by the real compiler (--exact): see the notes" if by_rules else ""


def _missing(p: Prediction) -> str:
    """The part of the verdict that names ops without a model."""
    count = sum(p.unmodelled.values())
    if not count:
        if p.kernel_count:
            return ""
        calls = "calls no ops" if not p.trace.ops else "runs no kernels"
        return f"; the step {calls}: the prediction covers host work only"
    names = sorted(p.unmodelled, key=lambda name: -p.unmodelled[name])
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    ops = "ops is" if count == 1 else "ops are"
    return (
        f"; {count:,} of {len(p.trace.ops):,} {ops} not modelled ({names[0]}{more}): the step "
        "may take longer"
    )


def totals(p: Prediction, subject: Subject) -> Totals:
    """Rates of the step, over its period."""
    per_engine: dict[tuple[str, str], int] = {}
    peaks: dict[tuple[str, str], float] = {}
    launches = np.bincount(p.columns.work_of, minlength=len(p.works)).tolist()
    for work, count in zip(p.works, launches, strict=True):
        if work.family in PRODUCTS:
            engine = (work.engine, work.dtype)
            peaks[engine] = roof_flops_per_s(p.gpu, work)
            per_engine[engine] = per_engine.get(engine, 0) + round(work.computed_flops) * count
    at_peak_s = sum(flops / peaks[e] for e, flops in per_engine.items())
    most = max(per_engine, key=lambda e: per_engine[e], default=("", ""))
    per_s = 1 / p.period_s if p.period_s else 0.0
    return Totals(
        samples_per_s=subject.batch * subject.forwards * per_s,
        tokens_per_s=p.trace.tokens * per_s if p.trace.tokens else None,
        product_flops=sum(per_engine.values()),
        utilisation=at_peak_s * per_s,
        engine=_engine(p, *most) if per_engine else "",
        peak_flops_per_s=peaks.get(most, 0.0),
        busy_share=p.gpu_busy_s * per_s,
        gaps_s=max(0.0, p.period_s - p.gpu_busy_s - p.idle.host_s - p.idle.sync_s),
    )


def _engine(p: Prediction, engine: str, dtype: str) -> str:
    """The engine that multiplies in a dtype: vector units if no tensor core supports it."""
    short = short_dtype(dtype).partition("_")[0]  # both 8-bit formats have the same peak
    has = engine == "vector" or p.gpu.peak("tensor", short)
    return f"{short} on {engine} units" if has else f"{short} on vector units, in fp32"


def memory_parts(p: Prediction) -> list[tuple[str, int]]:
    """Bytes at the peak by role, largest first, the libraries' workspace last."""
    parts = sorted(p.memory.at_peak.items(), key=lambda part: -part[1])
    named = [(ROLES[role], size) for role, size in parts if size]
    return named + ([("workspace", p.workspace_bytes)] if p.workspace_bytes else [])


def unmodelled(p: Prediction) -> list[str]:
    """Ops without a cost function, with their share of all ops."""
    ops = max(1, len(p.trace.ops))
    most = sorted(p.unmodelled.items(), key=lambda item: -item[1])
    return [f"{name} ×{count} ({percent(count / ops)} of ops)" for name, count in most]


def notes(p: Prediction) -> list[str]:
    """Notes on a prediction, without its assumptions, which are listed separately."""
    stated = tuple(f"{a.name} depends on data" for a in p.trace.assumptions)
    others = [note for note in p.notes if not note.startswith(stated)]
    if p.trace.gpu != p.gpu.id:
        others.append(
            f"traced for {p.trace.gpu}: on {p.gpu.id} PyTorch may choose other kernels; trace "
            "the network again for this GPU"
        )
    return others


def causes(p: Prediction) -> list[tuple[str, float]]:
    """Seconds of a step in which no kernel runs, by cause."""
    gaps = max(0.0, p.period_s - p.gpu_busy_s - p.idle.host_s - p.idle.sync_s)
    return [
        ("waiting for the host", p.idle.host_s),
        ("waiting for a sync", p.idle.sync_s),
        ("between kernels", gaps),
    ]


def provenance(p: Prediction) -> list[tuple[str, str]]:
    """Rows of (name, source) with the provenance of the numbers."""
    tiers = ", ".join(f"{tier} {percent(share)}" for tier, share in p.tiers.items())
    own = f", with {OWN_FIGURES}" if has_own_figures(p.gpu, p.profile) else ""
    rows = [
        ("kernel times", f"profile {p.profile}: {tiers}{own}"),
        ("host", f"{p.host.id}: {p.host.cpu}"),
        ("trace", f"torch {p.trace.torch_version}, for {p.trace.gpu}"),
    ]
    if p.trace.phase == "training":
        rows.append(("loss", loss_of(p)))
    if p.gpu.unsourced:
        keys = dict.fromkeys(key.partition(".")[0] for key in p.gpu.unsourced)
        rows.append(("no source for", f"{', '.join(keys)} of {p.gpu.name}"))
    return rows


def loss_of(p: Prediction) -> str:
    """The loss of a training step: `.loss` of the network's output, else the mean square of its
    first output, recognised by a final pow and mean."""
    forward: list[str] = []
    for op in p.trace.ops:
        if op.phase != "forward":
            break
        forward.append(op.name)
    if forward[-2:] == ["aten.pow.Tensor_Scalar", "aten.mean.default"]:
        return "the mean square of the first output: the network returns no .loss"
    return "the network's own (.loss of its output)"


def idle_sentence(p: Prediction) -> str:
    """One line about the time in which no kernel runs, with its causes."""
    parts = [f"{name} {seconds(value)}" for name, value in causes(p) if value > 0]
    spent = sum(value for _, value in causes(p))
    if not parts or not p.period_s:
        return "none"
    return f"{seconds(spent)} ({percent(spent / p.period_s)}): {', '.join(parts)}"

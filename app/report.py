"""What a report says of a prediction: sums and ratios of its kernels, nothing timed anew."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from app.quantities import number, percent, seconds, seconds_unit
from app.scenario import Subject
from simulator.prediction import REGIMES, Kernel, Prediction, Regime, Shares
from simulator.records import Role
from simulator.roofline import peak_flops_per_s

PRODUCTS = ("gemm", "gemv", "conv", "attention", "rnn")
"""Families whose FLOPs count as a model's: matrix products in their several forms."""

ROLES: dict[Role, str] = {
    "weight": "weights", "buffer": "buffers", "gradient": "gradients",
    "optimizer": "optimizer state", "activation": "activations", "input": "inputs",
}  # fmt: skip


@dataclass(frozen=True)
class Totals:
    """`products_s` is what the products' FLOPs would take at the peaks of their engines, and
    `utilisation` that over the period; `engine` and `peak_flops_per_s` are those of most FLOPs."""

    samples_per_s: float
    tokens_per_s: float | None
    product_flops: int
    utilisation: float
    engine: str
    peak_flops_per_s: float
    busy_share: float
    gaps_s: float


@dataclass(frozen=True)
class KernelGroup:
    """Launches alike: of one op and family, on one shape. `of_roof` is the share that they reach
    of the data sheet's roof: of its FLOP/s or of its DRAM bandwidth, whichever is nearer."""

    op: str
    family: str
    shape: str
    dtype: str
    count: int
    total_s: float
    share: float
    shares: Shares
    of_roof: float

    @property
    def regime(self) -> Regime:
        return max(REGIMES, key=lambda r: self.shares[r])


@dataclass(frozen=True)
class ModuleGroup:
    """Modules alike and all that they contain: "layers.*.attention" stands for every layer's."""

    path: str
    depth: int
    count: int
    kernels: int
    total_s: float
    share: float
    shares: Shares

    @property
    def regime(self) -> Regime:
        return max(REGIMES, key=lambda r: self.shares[r])


def title(p: Prediction, subject: Subject) -> str:
    """What was predicted: "bert-base, batch 16 × 128, fp32, inference on NVIDIA H200"."""
    batch = f"batch {subject.batch}" + (f" × {subject.seq}" if subject.seq else "")
    phase = p.trace.phase
    if phase == "training":
        phase += f" ({p.trace.optimizer})" if p.trace.optimizer else " (no optimizer)"
    mode = "" if p.mode == "eager" else f", {p.mode.replace('_', ' ')}"
    return f"{subject.name}, {batch}, {subject.dtype}, {phase}{mode} on {gpu_name(p)}"


def gpu_name(p: Prediction) -> str:
    """The GPU's name with its vendor's before it."""
    vendor = p.gpu.vendor or ""
    return p.gpu.name if p.gpu.name.startswith(vendor) else f"{vendor} {p.gpu.name}"


def verdict(p: Prediction, subject: Subject) -> str:
    """The answer in one sentence. Two digits: the interval is wider than a third."""
    scale, unit = seconds_unit(p.period_s, 2)
    low, high = (number(bound / scale, 2) for bound in p.interval_s)
    shares = ", ".join(f"{percent(p.shares[r])} {r}" for r in REGIMES)
    return (
        f"{title(p, subject)}: {number(p.period_s / scale, 2)} {unit} a step "
        f"(80%: {low} to {high}), {p.regime}-bound ({shares})"
    )


def totals(p: Prediction, subject: Subject) -> Totals:
    """Rates of the step, over its period."""
    per_engine: dict[tuple[str, str], int] = {}
    for k in p.kernels:
        if k.family in PRODUCTS:
            engine = (k.engine, k.dtype)
            per_engine[engine] = per_engine.get(engine, 0) + k.flops
    peaks = {e: peak_flops_per_s(p.gpu, *e) for e in per_engine}
    at_peak_s = sum(flops / peaks[e] for e, flops in per_engine.items())
    most = max(per_engine, key=lambda e: per_engine[e], default=("", ""))
    per_s = 1 / p.period_s if p.period_s else 0.0
    return Totals(
        samples_per_s=subject.batch * per_s,
        tokens_per_s=p.trace.tokens * per_s if p.trace.tokens else None,
        product_flops=sum(per_engine.values()),
        utilisation=at_peak_s * per_s,
        engine=f"{short_dtype(most[1])} on {most[0]} units" if per_engine else "",
        peak_flops_per_s=peaks.get(most, 0.0),
        busy_share=p.gpu_busy_s * per_s,
        gaps_s=max(0.0, p.period_s - p.gpu_busy_s - p.idle.host_s - p.idle.sync_s),
    )


def memory_parts(p: Prediction) -> list[tuple[str, int]]:
    """The peak's parts by what they hold, largest first, the libraries' workspace last."""
    parts = sorted(p.memory.at_peak.items(), key=lambda part: -part[1])
    named = [(ROLES[role], size) for role, size in parts if size]
    return named + ([("workspace", p.workspace_bytes)] if p.workspace_bytes else [])


def short_dtype(dtype: str) -> str:
    """torch's name of a dtype, shortened: "bfloat16" is "bf16"."""
    return re.sub(r"^(b?)float", lambda m: m[1] + ("f" if m[1] else "fp"), dtype)


def kernel_groups(p: Prediction) -> list[KernelGroup]:
    """The kernels in groups, the longest first."""
    groups: dict[tuple[str, str, str, str], list[Kernel]] = {}
    for k in p.kernels:
        groups.setdefault((k.name, k.family, _shape(p, k), k.dtype), []).append(k)
    found: list[KernelGroup] = []
    for (op, family, shape, dtype), kernels in groups.items():
        total = sum(k.duration_s for k in kernels)
        found.append(
            KernelGroup(
                op.removesuffix(".default"), family, shape, short_dtype(dtype), len(kernels),
                total, total / p.gpu_busy_s if p.gpu_busy_s else 0.0, _shares(kernels),
                sum(_roof_s(p, k) for k in kernels) / total if total else 0.0,
            )
        )  # fmt: skip
    return sorted(found, key=lambda g: -g.total_s)


def _roof_s(p: Prediction, k: Kernel) -> float:
    flops = k.flops / peak_flops_per_s(p.gpu, k.engine, k.dtype)
    return max(flops, k.bytes / p.gpu.bandwidth_bytes_per_s)


def _shares(kernels: Iterable[Kernel]) -> Shares:
    """Of the kernels' own time: what bounds each, and its fixed part. Waiting is not theirs."""
    total: Shares = {"compute": 0.0, "memory": 0.0, "overhead": 0.0}
    for k in kernels:
        total["compute" if k.compute_s >= k.memory_s else "memory"] += max(k.compute_s, k.memory_s)
        total["overhead"] += k.fixed_s
    whole = sum(total.values()) or 1.0
    return {r: total[r] / whole for r in REGIMES}


def _shape(p: Prediction, k: Kernel) -> str:
    """The shape in the family's own terms: a product's m×n×k, else the op's output."""
    dims = p.works[int(p.columns.work_of[k.index])].dims
    if k.family == "gemm":
        batch = f"{dims['b']}·" if dims["b"] > 1 else ""
        return f"{batch}{dims['m']}×{dims['n']}×{dims['k']}"
    if k.family == "attention":
        return f"{dims['b']}·{dims['h']}·{dims['sq']}×{dims['sk']}×{dims['d']}"
    op = p.trace.ops[k.op]
    outputs = [t for t in op.outputs if t.shape] or [t for t in op.inputs if t.shape]
    if len(outputs) > 4:
        return f"{len(outputs)} tensors"
    return "×".join(map(str, outputs[0].shape)) if outputs else "scalar"


def module_groups(p: Prediction, depth: int = 3) -> list[ModuleGroup]:
    """Modules with all that they contain, as a tree to this depth: a parent, then its children,
    the longest first. The optimizer's step, and what the network does itself, stand apart."""
    kernels: dict[tuple[str, ...], list[Kernel]] = {}
    members: dict[tuple[str, ...], set[str]] = {}
    for k in p.kernels:
        own = f"({'optimizer' if k.phase == 'optimizer' else 'the network itself'})"
        parts = k.module.split(".") if k.module else [own]
        names = _starred(parts)
        for level in range(1, min(depth, len(names)) + 1):
            key = tuple(names[:level])
            kernels.setdefault(key, []).append(k)
            real = sum(name.count(".") + 1 for name in names[:level])
            members.setdefault(key, set()).add(".".join(parts[:real]))
    spent = {key: sum(k.duration_s for k in found) for key, found in kernels.items()}

    def place(key: tuple[str, ...]) -> list[tuple[float, str]]:
        return [(-spent[key[:n]], key[n - 1]) for n in range(1, len(key) + 1)]

    return [
        ModuleGroup(
            key[-1], len(key) - 1, len(members[key]), len(kernels[key]), spent[key],
            spent[key] / p.gpu_busy_s if p.gpu_busy_s else 0.0, _shares(kernels[key]),
        )
        for key in sorted(kernels, key=place)
    ]  # fmt: skip


def _starred(parts: list[str]) -> list[str]:
    """A path by levels, with a list and its number as one level: layers.3.up → layers.*, up."""
    names: list[str] = []
    for part in parts:
        if part.isdecimal() and names:
            names[-1] += ".*"
        else:
            names.append(part)
    return names


def unmodelled(p: Prediction) -> list[str]:
    """Ops without a cost function, with their share of all ops."""
    ops = max(1, len(p.trace.ops))
    most = sorted(p.unmodelled.items(), key=lambda item: -item[1])
    return [f"{name} ×{count} ({percent(count / ops)} of ops)" for name, count in most]


def notes(p: Prediction) -> list[str]:
    """What a reader must know, the prediction's own notes first; assumptions are told apart."""
    told = tuple(f"{a.name} depends on data" for a in p.trace.assumptions)
    found = [note for note in p.notes if not note.startswith(told)]
    if p.trace.gpu != p.gpu.id:
        found.append(
            f"traced as on {p.trace.gpu}: on {p.gpu.id} PyTorch may choose other kernels; trace "
            "the network again for an answer of its own"
        )
    return found


def causes(p: Prediction) -> list[tuple[str, float]]:
    """Time of a step in which no kernel runs, by cause."""
    gaps = max(0.0, p.period_s - p.gpu_busy_s - p.idle.host_s - p.idle.sync_s)
    return [
        ("waiting for the host", p.idle.host_s),
        ("waiting for a sync", p.idle.sync_s),
        ("between kernels", gaps),
    ]


def provenance(p: Prediction) -> list[tuple[str, str]]:
    """Where the numbers come from."""
    tiers = ", ".join(f"{tier} {percent(share)}" for tier, share in p.tiers.items())
    rows = [
        ("kernel times", f"profile {p.profile}: {tiers}"),
        ("host", f"{p.host.id}: {p.host.cpu}"),
        ("trace", f"torch {p.trace.torch_version}, as on {p.trace.gpu}"),
    ]
    if p.gpu.unsourced:
        keys = dict.fromkeys(key.partition(".")[0] for key in p.gpu.unsourced)
        rows.append(("without source", f"{', '.join(keys)} of {p.gpu.name}"))
    return rows


def idle_sentence(p: Prediction) -> str:
    """One line on the time in which no kernel runs."""
    found = [f"{name} {seconds(value)}" for name, value in causes(p) if value > 0]
    spent = sum(value for _, value in causes(p))
    if not found or not p.period_s:
        return "none"
    return f"{seconds(spent)} ({percent(spent / p.period_s)}): {', '.join(found)}"

"""Similar kernels and similar modules in groups, as a report lists them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from app.quantities import data
from simulator.prediction import REGIMES, Kernel, Prediction, Regime, Shares
from simulator.records import Phase
from simulator.timing.rates import roof_flops_per_s


@dataclass(frozen=True)
class KernelGroup:
    """Launches of one op and family on one shape. `of_roof` is their rate as a share of the data
    sheet's lower roof at their intensity; `roof` is the name of that roof: "DRAM" or a peak such as
    "fp32".
    """

    op: str
    family: str
    shape: str
    dtype: str
    count: int
    total_s: float
    share: float
    shares: Shares
    of_roof: float
    roof: str = "DRAM"

    @property
    def regime(self) -> Regime:
        return max(REGIMES, key=lambda r: self.shares[r])


@dataclass(frozen=True)
class ModuleGroup:
    """Matching modules with their contents: "layers.*.attention" stands for the attention of every
    layer."""

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


@lru_cache(64)
def short_dtype(dtype: str) -> str:
    """Shorten torch's name of a dtype: "bfloat16" to "bf16"."""
    return re.sub(r"^(b?)float", lambda m: m[1] + ("f" if m[1] else "fp"), dtype)


def kernel_groups(p: Prediction) -> list[KernelGroup]:
    """Group the kernels, the longest total time first."""
    groups: dict[tuple[str, str, str, str], list[Kernel]] = {}
    by_call: dict[tuple[int, int], list[Kernel]] = {}  # a call's signature determines its group
    ops = p.trace.ops
    for k, work in zip(p.kernels, p.columns.work_of.tolist(), strict=True):
        call = work, id(ops[k.op].signature)
        if call not in by_call:
            key = k.name, k.family, shape_of(p, work, k.op), k.dtype
            by_call[call] = groups.setdefault(key, [])
        by_call[call].append(k)
    rows: list[KernelGroup] = []
    for (op, family, shape, dtype), kernels in groups.items():
        total = sum(k.duration_s for k in kernels)
        rows.append(
            KernelGroup(
                op.removesuffix(".default"),
                family,
                shape,
                short_dtype(dtype),
                len(kernels),
                total,
                total / p.gpu_busy_s if p.gpu_busy_s else 0.0,
                _shares(kernels),
                *_of_roof(p, kernels, total),
            )
        )
    return sorted(rows, key=lambda g: -g.total_s)


def _of_roof(p: Prediction, kernels: list[Kernel], total_s: float) -> tuple[float, str]:
    """A group's rate as a share of the lower roof at its intensity, and the name of that roof."""
    first = kernels[0]
    rows: list[int] = p.columns.work_of[[k.index for k in kernels]].tolist()
    works = [p.works[row] for row in rows]
    computing = sum(w.computed_flops for w in works) / roof_flops_per_s(p.gpu, works[0])
    moving = sum(k.bytes for k in kernels) / p.gpu.bandwidth_bytes_per_s
    name = short_dtype(first.dtype) if computing > moving else "DRAM"
    return max(computing, moving) / total_s if total_s else 0.0, name


def _shares(kernels: Iterable[Kernel]) -> Shares:
    """Shares of the kernels' own time by bound; fixed parts are overhead, waiting is left out."""
    total: Shares = {"compute": 0.0, "memory": 0.0, "overhead": 0.0}
    for k in kernels:
        if k.compute_s >= k.memory_s:
            total["compute"] += k.compute_s
        else:
            total["memory"] += k.memory_s
        total["overhead"] += k.fixed_s
    whole = sum(total.values()) or 1.0
    return {r: total[r] / whole for r in REGIMES}


def shape_of(p: Prediction, work: int, op: int) -> str:
    """The shape of a launch in the family's terms: m×n×k for a product, with the number of groups
    if it is grouped; the bytes written for a generated kernel; else the shape of the op's output.
    """
    family, dims = p.works[work].family, p.works[work].dims
    if family == "gemm" and "groups" in dims:
        left, out = p.trace.ops[op].inputs[0], p.trace.ops[op].outputs[0]
        return f"{left.shape[-2]}×{out.shape[-1]}×{left.shape[-1]} in {dims['groups']}"
    if family == "gemm":
        batch = f"{dims['b']}·" if dims["b"] > 1 else ""
        return f"{batch}{dims['m']}×{dims['n']}×{dims['k']}"
    if family == "attention":
        return f"{dims['b']}·{dims['h']}·{dims['sq']}×{dims['sk']}×{dims['d']}"
    call = p.trace.ops[op]
    if call.name.startswith("fused.") and all(t.dtype == "uint8" for t in call.outputs):
        return f"writes {data(sum(t.nbytes for t in call.outputs))}"  # only their bytes are known
    outputs = [t for t in call.outputs if t.shape] or [t for t in call.inputs if t.shape]
    if len(outputs) > 4:
        return f"{len(outputs)} tensors"
    return "×".join(map(str, outputs[0].shape)) if outputs else "scalar"


def module_groups(p: Prediction, depth: int = 3) -> list[ModuleGroup]:
    """Group the modules as a tree to this depth: each parent before its children, longest first.
    The optimizer's step and the network's own ops are separate groups."""
    kernels: dict[tuple[str, ...], list[Kernel]] = {}
    members: dict[tuple[str, ...], set[str]] = {}
    groups: dict[str, list[list[Kernel]]] = {}  # each owner's groups
    for k in p.kernels:
        name = owner(k.module, k.phase)
        if name not in groups:
            parts = name.split(".")
            names = levels(parts)
            keys = [tuple(names[:level]) for level in range(1, min(depth, len(names)) + 1)]
            groups[name] = [kernels.setdefault(key, []) for key in keys]
            for key in keys:
                real = sum(level.count(".") + 1 for level in key)
                members.setdefault(key, set()).add(".".join(parts[:real]))
        for group in groups[name]:
            group.append(k)
    spent = {key: sum(k.duration_s for k in rows) for key, rows in kernels.items()}

    def place(key: tuple[str, ...]) -> list[tuple[float, str]]:
        return [(-spent[key[:n]], key[n - 1]) for n in range(1, len(key) + 1)]

    return [
        ModuleGroup(
            key[-1],
            len(key) - 1,
            len(members[key]),
            len(kernels[key]),
            spent[key],
            spent[key] / p.gpu_busy_s if p.gpu_busy_s else 0.0,
            _shares(kernels[key]),
        )
        for key in sorted(kernels, key=place)
    ]


def owner(module: str, phase: Phase) -> str:
    """The owner of a launch: a module, the optimizer's step or the network itself."""
    return module or f"({'optimizer' if phase == 'optimizer' else 'the network itself'})"


def levels(parts: list[str], alike: bool = True) -> list[str]:
    """Split a path into levels; a list and its index are one level: layers.3.up → layers.*, up.

    If `alike` is False, indices are kept: layers.3, up.
    """
    names: list[str] = []
    for part in parts:
        if part.isdecimal() and names:
            names[-1] += ".*" if alike else f".{part}"
        else:
            names.append(part)
    return names

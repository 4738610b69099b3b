"""Host-bound steps timed by `calibration.measure.host_truth`, as rounds with the host's speed at
that time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from math import log, sqrt
from statistics import median
from typing import Any, NamedTuple

import msgspec

from calibration.record.read import MEASUREMENTS, Probes, host_index, recordings
from simulator.hardware.host import Host, Parts
from simulator.hardware.host import host as find_host
from simulator.hardware.host_speed import parts

MACHINES = ("h200_sxm", "h100_sxm")
REFERENCE = "h200_sxm"
"""The machine whose fast rounds are the reference: the 20th percentile of its probe times."""
FEW = 64
_PYTHON = ("bytecode", "calls", "attributes", "modules")
_LAUNCHING = ("launches", "gpu_adds", "products")
_OPS = 0.67
"""If another process on the same core slows down a thread, the time factor of ops is that of
bytecode to the power of this number, which was fitted to 616 rounds of probes in which bytecode
took 1.5 to 2.7 times as long."""
_STEADY = 0.15
"""A round counts if the logarithm of the host's speed changed by at most this much during it."""
_RULES = 1.25
"""A step alone is host-bound if the ratio of its time to its issue time is at most this."""


class Round(NamedTuple):
    """Seconds per step, back to back, and the time factors of the host relative to the
    reference."""

    seconds: float
    host: Parts


class Step(NamedTuple):
    """A case on a machine; `name` is its `Case.name`."""

    machine: str
    case: dict[str, Any]
    rounds: tuple[Round, ...]

    @property
    def name(self) -> str:
        return self.case["name"]

    @property
    def family(self) -> str:
        """The group that is held out together: a network in all its modes and sizes."""
        network = self.case["network"]
        package, _, rest = network.partition("-")
        alone = package in ("transformers", "timm")
        return rest.partition("-")[0] if alone else network if package == "ops" else package


def lines(machine: str) -> Iterator[dict[str, Any]]:
    """All lines that were written on a machine."""
    with gzip.open(MEASUREMENTS / machine / "host_truth.jsonl.gz", "rt") as file:
        yield from map(json.loads, file)


def reference_index() -> dict[str, float]:
    """Times of the fixed steps on the reference, in the last process that timed them there."""
    return [row["host_index"] for row in lines(REFERENCE) if row.get("host_index")][-1]


@lru_cache
def quiet() -> dict[str, float]:
    """Seconds of each probe on the reference."""
    medians: dict[str, list[float]] = {}
    for row in lines(REFERENCE):
        for each in row.get("rounds", ()):
            for name, seconds in each["probes"].items():
                medians.setdefault(name, []).append(median(seconds))
    return {name: sorted(each)[len(each) // 5] for name, each in medians.items()}


def speed(probes: Mapping[str, list[float]], reference: Mapping[str, float]) -> Parts:
    """The times of the parts relative to the reference, as in
    `simulator.hardware.host_speed.parts`."""

    def times(names: tuple[str, ...]) -> float:
        return median(median(probes[name]) / reference[name] for name in names)

    ops = times(_LAUNCHING)
    return Parts(sqrt(times(_PYTHON) * ops), ops, ops)


def sharing(bytecode_s: float) -> Parts:
    """The times of the parts relative to the reference, for a thread that shares its core with
    another process, from the time of the probe `bytecode` alone."""
    ratio = bytecode_s / quiet()["bytecode"]
    ops = ratio**_OPS
    return Parts(sqrt(ratio * ops), ops, ops)


def as_fast(times: Parts) -> Host:
    """The default host at the speed of a host that took `times` as long as the reference while it
    ran the step to predict."""
    default = parts(find_host().reference, reference_index())
    host = find_host().slower(Parts(*(a / b for a, b in zip(times, default, strict=True))))
    return msgspec.structs.replace(host, training=1.0)


def beside(probes: Probes) -> Host:
    """The default host, scaled to the speed that probes measured before and after a step."""
    return as_fast(probed(probes))


def probed(probes: Probes) -> Parts:
    """The times of the parts, relative to the reference, that probes measured before and after a
    step."""
    before, after = (speed(each, quiet()) for each in probes)
    return _between(before, after)


def steps(machine: str, mode: str = "eager") -> Iterator[Step]:
    """The host-bound steps of a mode, with the rounds during which the host's speed was steady."""
    reference = quiet()
    for row in lines(machine):
        if not row.get("rounds") or row["case"]["mode"] != mode:
            continue
        at = [speed(each["probes"], reference) for each in row["rounds"]]
        at.append(speed(row["after"], reference))
        alone = [pair for each in row["rounds"] for pair in each["alone"]]
        issue_s, latency_s = (median(pair[place] for pair in alone) for place in (0, 1))
        steady_s = median(each["steady"][0] for each in row["rounds"])
        graph: dict[str, Any] = row.get("graph") or {}
        replay_s: float = graph.get("period_s", 0.0)
        if latency_s > _RULES * issue_s + 20e-6 or replay_s > steady_s / _RULES:
            continue
        rounds = tuple(
            Round(each["steady"][0], _between(before, after))
            for each, (before, after) in zip(row["rounds"], pairwise(at), strict=True)
            if all(abs(log(b / a)) < _STEADY for a, b in zip(before, after, strict=True))
        )
        if rounds:
            yield Step(machine, row["case"], rounds)


def few_launches(reference: Mapping[str, float]) -> Iterator[Step]:
    """Recorded steps of at most `FEW` kernels, each as one round with its process's host. In steps
    with more launches, the profiler's hooks, which are left from the previous case, lengthen each
    launch by 2 to 4 µs."""
    for suite in ("host", "recordings"):
        at = parts(host_index(suite), reference)
        for each in recordings(suite):
            ruled = each.period_s > _RULES * each.gpu_busy_s
            if ruled and each.kernel_count <= FEW and each.case.get("mode", "eager") == "eager":
                yield Step(f"{REFERENCE}, before", each.case, (Round(each.period_s, at),))


def _between(a: Parts, b: Parts) -> Parts:
    """The geometric mean of two speeds."""
    return Parts(*(sqrt(x * y) for x, y in zip(a, b, strict=True)))

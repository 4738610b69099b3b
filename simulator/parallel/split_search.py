"""The fastest split of a network over a cluster that fits into its memory.

Every split has the same batch over all GPUs, so that their periods can be compared. Splits that do
not divide the step or that an estimate of memory rules out are pruned, with the reason. The others
are ranked by an estimate from four traced blocks, and the best are predicted in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from simulator.cluster.cluster import Cluster
from simulator.cluster.layout import Layout
from simulator.cluster.modes import check_mode
from simulator.cluster.split_texts import excess_text, step_text
from simulator.cluster.step import NetworkStep
from simulator.errors import InputError
from simulator.formats.numbers import data
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.parallel.estimate import Estimate, estimate
from simulator.parallel.network_step import layers_of
from simulator.parallel.predict_step import predict_network
from simulator.parallel.prediction import ParallelPrediction

Progress = Callable[[str, float], None]


def _silent(text: str, share: float) -> None:
    """Report no progress."""


"""Called with the current task and the share of it that is done; may raise to cancel."""

_PREDICTED = 6
"""The number of splits to predict in full."""
_SLOWER = 1.6
"""Splits are pruned if their estimate is this many times the best one."""


@dataclass(frozen=True)
class Split:
    """A split that was predicted in full; `batch` is the batch of all GPUs together."""

    layout: Layout
    batch: int
    prediction: ParallelPrediction
    reason: str

    @property
    def period_s(self) -> float:
        return self.prediction.period_s


@dataclass(frozen=True)
class Pruned:
    """A split that was not predicted, and why: it does not divide the step, needs too much memory,
    or is estimated to be slow."""

    layout: Layout
    cause: Literal["shape", "memory", "speed"]
    reason: str


@dataclass(frozen=True)
class Splits:
    """The splits that fit, the fastest first, and those that were pruned."""

    ranked: tuple[Split, ...]
    pruned: tuple[Pruned, ...]

    @property
    def best(self) -> Split:
        return self.ranked[0]


def search_splits(
    step: NetworkStep,
    cluster: Cluster,
    host: str | Host | None = None,
    mode: str = "eager",
    progress: Progress | None = None,
    layouts: Sequence[Layout] | None = None,
    most: int = _PREDICTED,
) -> Splits:
    """The splits of a step over all GPUs of a cluster; `step.batch` is that of all GPUs together
    (default: one sample per GPU). `layouts` are the splits to try (default: all), of which `most`
    are predicted in full. Raises InputError if the step has no split, or none that fits."""
    check_mode(mode)
    driver = (host if isinstance(host, Host) else find_host(host)).of_ranks(cluster.gpus)
    report = progress or _silent
    batch = step.batch or cluster.gpus
    pruned: list[Pruned] = []
    estimates: list[tuple[Layout, Estimate]] = []
    candidates = list(layouts_of(step, cluster, batch) if layouts is None else layouts)
    for number, spread in enumerate(candidates):
        report(f"estimate {spread}", 0.6 * number / len(candidates))
        try:
            replica = _replica(step, spread, batch)
            estimates.append((spread, estimate(replica, spread, cluster, driver)))
        except InputError as error:
            pruned.append(Pruned(spread, "shape", str(error)))
    if not estimates:
        reasons = list(dict.fromkeys(each.reason for each in pruned))
        raise InputError(
            f"{step.network} cannot be split over {cluster.id}: {'; '.join(reasons[:2])}"
        )
    capacity = cluster.gpu.memory_bytes
    fitting: list[tuple[Layout, Estimate]] = []
    for spread, each in estimates:
        if each.memory_bytes > capacity:
            over = data(each.memory_bytes - capacity)
            pruned.append(
                Pruned(
                    spread,
                    "memory",
                    f"{each.largest} needs about {data(each.memory_bytes)}, {over} "
                    f"more than {cluster.gpu.name} has",
                )
            )
        else:
            fitting.append((spread, each))
    if not fitting:
        least, each = min(estimates, key=lambda pair: pair[1].memory_bytes)
        raise InputError(
            f"{step.network} fits {cluster.id} under no split: expected at most "
            f"{data(capacity)} on each GPU; the least is {data(each.memory_bytes)} "
            f"with {least}; add GPUs, or lower the batch"
        )
    fitting.sort(key=lambda pair: pair[1].period_s)
    best_s = fitting[0][1].period_s
    ranked: list[Split] = []
    for number, (spread, each) in enumerate(fitting):
        if number >= most or each.period_s > _SLOWER * best_s:
            times = each.period_s / best_s
            pruned.append(
                Pruned(spread, "speed", f"estimated {times:.2f} times as slow as the best")
            )
            continue
        report(f"predict {spread}", 0.6 + 0.4 * number / most)
        p = predict_network(_replica(step, spread, batch), spread, cluster, driver, mode)
        if not p.fits:
            needed_bytes = max(r.needed_bytes for r in p.ranks)
            pruned.append(Pruned(spread, "memory", excess_text(needed_bytes, capacity)))
            continue
        ranked.append(Split(spread, batch, p, _reason(p)))
    report("done", 1.0)
    if not ranked:
        raise InputError(
            f"{step.network} fits {cluster.id} under none of the {len(fitting)} splits that were "
            "estimated to fit: expected more memory; add GPUs, or lower the batch"
        )
    ranked.sort(key=lambda split: split.period_s)
    return Splits(tuple(ranked), tuple(pruned))


def _replica(step: NetworkStep, spread: Layout, batch: int) -> NetworkStep:
    if batch % spread.dp:
        raise InputError(
            f"dp = {spread.dp} does not divide the batch {batch} of all GPUs: expected a multiple; "
            "change the batch"
        )
    return replace(step, batch=batch // spread.dp)


def layouts_of(step: NetworkStep, cluster: Cluster, batch: int) -> Iterator[Layout]:
    """The splits of a cluster, tensor groups within a node; if dp does not divide the batch, only
    one split of each shape is listed."""
    layers = layers_of(step)
    for tp in _divisors(cluster.gpus_per_node):
        for pp in _divisors(cluster.gpus // tp):
            if pp > 1 and (layers is None or layers % pp or not step.training):
                continue
            dp = cluster.gpus // (tp * pp)
            plain = Layout(dp, tp, pp)
            if pp == 1 or batch % dp:
                yield plain
                if dp > 1 and batch % dp == 0:
                    yield replace(plain, fsdp=True)
                continue
            cuts = [n for n in _divisors(batch // dp) if pp <= n <= 8 * pp]
            for count in cuts[-2:] or _divisors(batch // dp)[-1:]:
                yield replace(plain, microbatches=count)


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _reason(p: ParallelPrediction) -> str:
    """A short description of the busiest rank's step."""
    rank = p.slowest
    exposed = rank.exposed_communication_s / p.period_s
    waits = rank.waiting_alone_s / p.period_s
    return step_text(exposed, waits, max(rank.needed_bytes for rank in p.ranks))

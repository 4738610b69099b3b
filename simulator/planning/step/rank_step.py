"""The collectives of a replica over several GPUs, and its step with them.

Each layer is split as Megatron does (Shoeybi et al. 2019): a rank has its share of the heads, of
the feed-forward layer and of the vocabulary. All ranks do the same work, so that one rank is
predicted for all. Between their kernels they add up partial results: the rows of the embedding, and
in each of L layers the outputs of attention and of the feed-forward layer, 2·L + 1 all-reduces of
tokens · width elements. One all-gather collects the logits. No computation overlaps with the
collectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.cluster import Cluster, cluster
from simulator.collectives.nccl import dram_share, link_share
from simulator.collectives.price import collective_time
from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.planning.step.engine_reduce import engine_reduce
from simulator.planning.step.traced_step import sizes_of, steps
from simulator.scenario.scenario import Scenario
from simulator.simulate.step_columns import StepColumns
from simulator.timing.load import Exchange
from simulator.timing.power import supply
from simulator.timing.profile import learned

Floats = NDArray[np.float64]

BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}
_NORMS_OVER_HEADS = ("minimax-m2",)
"""Networks whose queries and keys pass norms over all heads, so that ranks add up two sums of
squares of each token in every layer (MiniMaxAI/MiniMax-M2, config.json: qk_norm_type per_layer)."""
_NEAR = 1e-6
"""A step is host-bound if its host and its period differ by less than this share, and slowed by the
power limit if its clock and the highest do by more."""


@dataclass(frozen=True)
class Communication:
    """Collectives of a step at several points [points]: seconds on the GPU with the ends of their
    interval, and on the host that issues them; bytes of each card in DRAM and over its links."""

    seconds: Floats
    low_s: Floats
    high_s: Floats
    issue_s: Floats
    dram_bytes: Floats
    link_bytes: Floats

    @property
    def exchange(self) -> Exchange:
        """The collectives' part of the card's energy: no kernel runs at the same time."""
        return Exchange(self.seconds, self.seconds, self.dram_bytes, self.link_bytes)


def node(gpu: GPU, split: int) -> Cluster:
    """A node of `split` linked GPUs. Raises InputError if the collectives of its links are not
    known."""
    link = gpu.interconnect
    if not link:
        raise InputError("its cards have no link: its file gives no interconnect")
    if not link.startswith(("NVLink", "PCIe")):
        raise InputError(f"its cards are linked by {link}, whose collectives are not known")
    if link.startswith("NVLink") and "bridge" in link and split > 2:
        raise InputError(f"no link joins {split} of its cards: {link} joins two")
    return cluster(f"{split}x{gpu.id}")


def communication(
    name: str,
    points: Sequence[tuple[int, int]],
    dtype: str,
    group: Cluster,
    mode: str,
    engine: str = "eager",
) -> Communication:
    """The collectives of a forward pass at points (sequences, new tokens of each): NCCL's, or an
    engine's own all-reduces where these are faster. Logits are computed for the last token of each
    sequence."""
    sizes = sizes_of(name)
    width, vocab, layers = (sizes[key] for key in ("width", "vocab", "layers"))
    element = BYTES[dtype]
    squares = layers if name in _NORMS_OVER_HEADS else 0
    rows: list[Floats] = []
    for sequences, tokens in points:
        count = sequences * tokens
        moved = (2 * layers + 1) * _all_reduce(count * width * element, group, mode, engine)
        logits_bytes = sequences * vocab * element
        gathered = collective_time("all_gather", logits_bytes, group, mode=mode)
        moved += np.array(
            [
                gathered.seconds,
                *gathered.interval_s,
                gathered.issue_s,
                *traffic("all_gather", logits_bytes, group.gpus),
            ]
        )
        if squares:
            moved += squares * _all_reduce(count * 2 * BYTES["fp32"], group, mode, engine)
        rows.append(moved)
    calls = 2 * layers + 2 + squares
    gap_s = 0.0 if mode == "eager" else calls * learned(group.gpu.id).graph_gap_s
    return communicated(rows, gap_s)


def communicated(rows: Sequence[Sequence[float] | Floats], gap_s: float) -> Communication:
    """The communication of points, with `gap_s` between the kernels of each."""
    seconds, low_s, high_s, *others = np.array(rows).T
    return Communication(seconds + gap_s, low_s + gap_s, high_s + gap_s, *others)


def traffic(kind: str, message_bytes: float, ranks: int) -> tuple[float, float]:
    """Bytes of a rank in DRAM and over its links in a collective."""
    return message_bytes * dram_share(kind, ranks), message_bytes * link_share(kind, ranks)


def _all_reduce(message_bytes: int, group: Cluster, mode: str, engine: str) -> Floats:
    """Seconds of NCCL's all-reduce, or of the engine's own if it is faster, with the ends of their
    interval, and of the host that issues it; bytes in DRAM and over the links."""
    added = collective_time("all_reduce", message_bytes, group, mode=mode)
    own = engine_reduce(engine, message_bytes, group)
    faster = own is not None and own.seconds < added.seconds
    gpu_s = own if own is not None and faster else (added.seconds, *added.interval_s)
    moved = traffic("all_reduce", message_bytes, group.gpus)
    return np.array([*gpu_s, added.issue_s, *moved])


def with_communication(
    step: StepColumns[Floats], moved: Communication, gpu: GPU, mode: str
) -> StepColumns[Floats]:
    """The steps of a rank with their collectives, one after the other. If an eager step is
    host-bound, the host issues the collectives too, and they fill time in which the GPU waits.
    Intervals are combined as independent. Shares are of the lengthened step."""
    period_s = step.period_s + moved.seconds
    if mode == "eager":
        waits = step.host_s > (1 - _NEAR) * step.period_s
        gpu_s = np.where(waits, step.gpu_busy_s, step.period_s) + moved.seconds
        period_s = np.maximum(gpu_s, step.host_s + moved.issue_s)
    below = np.hypot(step.period_s - step.low_s, moved.seconds - moved.low_s)
    above = np.hypot(step.high_s - step.period_s, moved.high_s - moved.seconds)
    card = supply(gpu)
    joules = np.full_like(period_s, np.nan)
    if card is not None:
        waiting_w = card.known.idle_w + card.known.clocked_w
        exchange_j = card.exchange_j(moved.exchange, step.clock_hz / card.highest_hz)
        joules = step.joules + waiting_w * (period_s - step.period_s) + exchange_j
    times = step.period_s / period_s
    return step._replace(
        period_s=period_s,
        low_s=period_s - below,
        high_s=period_s + above,
        joules=joules,
        compute=step.compute * times,
        memory=step.memory * times,
        overhead=step.overhead * times,
    )


def linked_steps(
    scenario: Scenario,
    points: Sequence[tuple[int, int]],
    moved: Communication,
    gpu: GPU,
    mode: str,
) -> StepColumns[Floats]:
    """The steps of a rank with their collectives, at the clock under the power limit of both."""
    step = steps(scenario, points)
    limits_w = limits_beside(step, moved, gpu)
    if limits_w is not None:
        step = steps(scenario, points, limits_w)
    return with_communication(step, moved, gpu, mode)


def limits_beside(
    step: StepColumns[Floats], moved: Communication, gpu: GPU
) -> tuple[float | None, ...] | None:
    """The power limit of a card without collectives at which its kernels have the clock that they
    have under its own limit together with collectives, for each point that the limit slows: (L · (T
    + t) − J) / T, for a step of T seconds and collectives of t seconds and J joules in all. None if
    no point is slowed."""
    card = supply(gpu)
    slowed = None if card is None else step.clock_hz < (1 - _NEAR) * card.highest_hz
    if card is None or slowed is None or not slowed.any():
        return None
    waiting_w = card.known.idle_w + card.known.clocked_w
    moved_j = waiting_w * moved.seconds
    moved_j = moved_j + card.exchange_j(moved.exchange, step.clock_hz / card.highest_hz)
    spare_w = (card.limit_w * moved.seconds - moved_j / card.known.held) / step.gpu_busy_s
    limits_w = (card.limit_w + spare_w).tolist()
    return tuple(w if slow else None for w, slow in zip(limits_w, slowed, strict=True))


def communication_share(step: StepColumns[Floats]) -> Floats:
    """The share of communication in steps with collectives: 1 minus the other shares."""
    return 1 - step.compute - step.memory - step.overhead

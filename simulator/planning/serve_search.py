"""The search for a served network: bounds first, then steady states, then simulations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context

from simulator.errors import InputError
from simulator.hardware.gpu import GPU, gpu, gpus
from simulator.planning.result import Row
from simulator.planning.serve_plan import MIDDLE, candidate, lengths, refined
from simulator.planning.spec import SPLITS, Candidates, Spec
from simulator.planning.tables import Machine, machine, parameters
from simulator.planning.wording import latency, usd

Key = tuple[str, str, str, int]
Progress = Callable[[str], None]
SoFar = Callable[[Sequence[Row]], None]

BITS = {"bf16": 16, "fp16": 16, "fp32": 32, "fp8": 8, "int8": 8, "int4": 4}
_SCREENED = 600  # requests of the first simulation of each candidate
_REFINED = 16  # of the ranked rows that are simulated in full, with the interval of their steps
_BEST = 3  # and of these with resampled intervals


@dataclass
class SearchResult:
    """The rows, the reasons for pruning, and the machines of a search."""

    rows: list[Row]
    pruned: dict[str, str]
    machines: dict[Key, Machine]


def listed(candidates: Candidates, everyone: bool = False) -> list[GPU]:
    """The GPUs that take part, or `everyone` that is named; "all" stands for all that are known."""
    names = candidates.gpus
    cards = gpus() if names == ("all",) else {c.id: c for c in map(gpu, names)}.values()
    return [card for card in cards if everyone or candidates.uses(card.id)]


def splits(spec: Spec, card: GPU, precision: str, weights: float) -> tuple[int, ...]:
    """GPUs of one replica to try: those of the spec, else 1 and, where the weights do not fit on
    one, the fewest that hold them. `weights` are parameters."""
    chosen = spec.candidates.splits_of(card.id)
    return chosen or tuple(sorted({1, _fewest(spec, card, precision, weights) or 1}))


def _fewest(spec: Spec, card: GPU, precision: str, weights: float) -> int | None:
    """The smallest split whose GPUs hold the weights; None if not even the largest does."""
    need = weights * BITS[precision] / 8
    room = card.memory_bytes * spec.workload.memory_share
    return next((split for split in SPLITS if need / split <= room), None)


def bound(spec: Spec, card: GPU, precision: str, weights: float, split: int = 1) -> str | None:
    """Why no count of this card can serve in this precision and split, by its data sheet alone;
    None where nothing speaks against it. `weights` are parameters."""
    peak = card.peak("tensor", "bf16") or card.peak("tensor", "fp16")
    if peak is None:
        return "its file gives no half-precision tensor peak"
    if precision == "fp8":
        if not card.peak("tensor", "fp8"):
            return "it has no fp8 products"
        peak = card.peak("tensor", "fp8") or peak
    need = weights * BITS[precision] / 8 / split
    room = card.memory_bytes * spec.workload.memory_share
    if need > room:
        fewest = _fewest(spec, card, precision, weights)
        hint = "no split over GPUs of one node holds them"
        return (
            f"weights of {need / 2**30:.1f} GiB do not fit in {room / 2**30:.1f} GiB "
            f"({spec.workload.memory_share:.0%} of the memory); "
            f"{f'tp={fewest} holds them' if fewest else hint}"
        )
    limit = spec.limits.per_token_s
    if limit is not None and need / card.bandwidth_bytes_per_s > limit:
        seconds = need / card.bandwidth_bytes_per_s
        return f"reading the weights once takes {latency(seconds)}, above the time per token"
    rate, prompt, output = lengths(spec)
    fresh = prompt * (1 - spec.workload.prefix_hit)
    cards = 2 * weights * rate * (fresh + output) / peak
    if cards > max(spec.candidates.counts_of(card.id)):
        return f"the products alone need {cards:.1f} cards at their peak"
    return None


def search(
    spec: Spec, workers: int, progress: Progress, so_far: SoFar = lambda rows: None
) -> SearchResult:
    """Every candidate of a serving spec. Rows are in no order; the nearest to a verdict are
    simulated in full. `so_far` is called with the rows whenever there are more."""
    weights = parameters(spec.workload)
    cards = listed(spec.candidates)
    found = SearchResult([], {}, {})
    # Cards share the traces of a precision, with its what-if applied: precisions one by one.
    precisions = dict.fromkeys(p for c in cards for p in spec.candidates.precisions_of(c.id))
    groups = [
        (precision, card)
        for precision in precisions
        for card in cards
        if precision in spec.candidates.precisions_of(card.id)
    ]
    one = partial(of_card, spec, weights)
    for done, part in enumerate(_mapped(one, groups, workers), 1):
        found.rows += part.rows
        found.pruned |= part.pruned
        found.machines |= part.machines
        so_far(found.rows)
        progress(f"planned {done:,} of {len(groups):,}{_so_far(found.rows)}")
    by_id = {card.id: card for card in cards}
    found.rows = _refine(spec, found, by_id, progress)
    return found


def of_card(spec: Spec, weights: float, group: tuple[str, GPU]) -> SearchResult:
    """Every split, engine and count of one precision of one card."""
    precision, card = group
    found = SearchResult([], {}, {})
    for split in splits(spec, card, precision, weights):
        name = card.name if split == 1 else f"{card.name}, tp={split}"
        if reason := bound(spec, card, precision, weights, split) or _uncounted(spec, card, split):
            found.pruned[f"{name}, {precision}"] = reason
            continue
        for engine in spec.candidates.engines_of(card.id):
            try:
                one = machine(spec.workload, card, precision, engine, split)
            except InputError as error:
                found.pruned[f"{name}, {engine}, {precision}"] = str(error)
                continue
            found.machines[card.id, engine, precision, split] = one
            _counts(spec, card, engine, precision, one, found)
    return found


def _uncounted(spec: Spec, card: GPU, split: int) -> str | None:
    """Why no count is whole replicas of this split; None if one is."""
    counts = spec.candidates.counts_of(card.id)
    if any(count % split == 0 for count in counts):
        return None
    return f"no count of {', '.join(map(str, counts))} is a multiple of {split}"


def _so_far(rows: list[Row]) -> str:
    """The cheapest row that fits, for the progress line; "" if none does."""
    fits = [row for row in rows if row.status == "fits"]
    if not fits:
        return ""
    best = min(fits, key=lambda row: (row.usd_per_h is None, row.cost))
    price = "" if best.usd_per_h is None else f", {usd(best.usd_per_h)} an hour"
    return f"; best so far {best.configuration}{price}"


def _counts(
    spec: Spec, card: GPU, engine: str, precision: str, one: Machine, found: SearchResult
) -> None:
    """Counts upwards, until the one after the first that fits."""
    quick = replace(spec, requests=min(_SCREENED, spec.requests))
    fits = 0
    whole = [n for n in spec.candidates.counts_of(card.id) if n % one.split == 0]
    for count in whole:
        if fits == 2:
            split = "" if one.split == 1 else f", tp={one.split}"
            name = f"{count} × {card.name}{split}, {engine}, {precision}"
            found.pruned[name] = "fewer of them hold every limit"
            continue
        row = candidate(quick, card, count, engine, precision, one, MIDDLE)
        found.rows.append(row)
        if row.status == "no memory":
            break
        fits += row.status == "fits"


def _mapped(
    one: Callable[[tuple[str, GPU]], SearchResult], groups: list[tuple[str, GPU]], workers: int
) -> Iterator[SearchResult]:
    if workers < 2 or len(groups) < 8:
        yield from map(one, groups)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        yield from pool.map(one, groups)


def _refine(
    spec: Spec, found: SearchResult, cards: dict[str, GPU], progress: Progress
) -> list[Row]:
    """The cheapest that fit, or the nearest, simulated with the whole load and intervals."""
    order = sorted(
        (r for r in found.rows if r.status in ("fits", "too slow") and r.first_token_s is not None),
        key=lambda row: (
            row.status != "fits",
            row.usd_per_h is None,
            row.cost if row.status == "fits" else _far(spec, row),
        ),
    )
    again: dict[int, Row] = {}
    for place, row in enumerate(order[:_REFINED]):
        progress(f"simulating {row.configuration}")
        one = found.machines[row.gpu, row.engine, row.precision, row.split]
        card = cards[row.gpu]
        full = candidate(spec, card, row.count, row.engine, row.precision, one)
        if place < _BEST and full.first_token_s is not None:
            full = refined(spec, full, card, one)
        again[id(row)] = full
    return [again.get(id(row), row) for row in found.rows]


def _far(spec: Spec, row: Row) -> float:
    """How many times above its limits a row is."""
    limits = spec.limits
    pairs = (
        (row.first_token_s, limits.first_token_s),
        (row.per_token_s, limits.per_token_s),
        (row.latency_s, limits.latency_s),
    )
    return max((v / limit for v, limit in pairs if v is not None and limit), default=1.0)

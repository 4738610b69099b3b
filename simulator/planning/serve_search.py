"""The search for a served network: bounds first, then steady states, then simulations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple, TypeVar

from simulator.errors import InputError
from simulator.hardware.gpu import GPU, gpu, gpus
from simulator.planning.bounds import bound, products_bound, prompt_bound, splits
from simulator.planning.nearest import Shortage
from simulator.planning.result import Row
from simulator.planning.serve_plan import MIDDLE, candidate, refined
from simulator.planning.spec import Candidates, Spec
from simulator.planning.step.scenarios import run_precision
from simulator.planning.step.tables import Machine, machine, network_size
from simulator.planning.step.traced_step import NetworkSize
from simulator.planning.wording import Currency
from simulator.scenario.gpu_class import traced_properties

Key = tuple[str, str, str, int, tuple[int, int] | None]
Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[str], None]
SoFar = Callable[[Sequence[Row]], None]

_SCREENED = 600  # requests of the first simulation of each candidate
_REFINED = 16  # ranked rows that are simulated in full, with the interval of their steps
_IN_TIME = ("fits", "uncertain")
"""Status of screened rows that meet every time limit; a row is uncertain if its cost is limited and
its price unknown."""
_BEST = 3  # number of the best of these rows, whose intervals are resampled


@dataclass
class SearchResult:
    """The rows, the reasons for pruning, and the machines of a search. `late` holds the reasons for
    candidates whose prompts alone make too many tokens late; they are planned only if no other row
    fits. `shortages` holds the limits that the bounds of candidates in `pruned` exceed."""

    rows: list[Row]
    pruned: dict[str, str]
    machines: dict[Key, Machine]
    late: dict[str, str] = field(default_factory=dict[str, str])
    shortages: dict[str, Shortage] = field(default_factory=dict[str, Shortage])


def listed(candidates: Candidates, everyone: bool = False) -> list[GPU]:
    """The GPUs of the candidates; "all" stands for every GPU. GPUs that the spec excludes are left
    out unless `everyone` is True."""
    names = candidates.gpus
    cards = gpus() if names == ("all",) else {c.id: c for c in map(gpu, names)}.values()
    return [card for card in cards if everyone or candidates.uses(card.id)]


def search(
    spec: Spec, workers: int, progress: Progress, so_far: SoFar = lambda rows: None
) -> SearchResult:
    """Search every candidate of a serving spec. Rows are in no particular order; the best of them
    are simulated in full. `so_far` is called with the rows whenever rows are added."""
    size = network_size(spec.workload)
    cards = listed(spec.candidates)
    result = SearchResult([], {}, {})
    precisions = dict.fromkeys(p for c in cards for p in spec.candidates.precisions_of(c.id))
    by_name = {
        (run, card.id): (run, card)
        for precision in precisions
        for card in cards
        if precision in spec.candidates.precisions_of(card.id)
        for run in (run_precision(card, precision),)
    }
    groups = list(by_name.values())

    order = _sharing_traces(groups, f"{spec.workload.network}-decode")

    def plan_groups(late: bool) -> None:
        plan_card, earlier = partial(of_card, spec, size, late=late), list(result.rows)
        parts: list[SearchResult | None] = [None] * len(groups)
        planned = _mapped(plan_card, [groups[place] for place in order], workers)
        for done, (place, part) in enumerate(zip(order, planned, strict=True), 1):
            parts[place] = part
            result.rows += part.rows
            so_far_text = _so_far(result.rows, spec.prices.currency)
            progress(f"planned {done:,} of {len(groups):,}{so_far_text}")
            so_far(result.rows)
        result.rows = earlier
        for part in filter(None, parts):
            result.rows += part.rows
            result.pruned |= part.pruned
            result.late |= part.late
            result.shortages |= part.shortages
            result.machines |= part.machines

    plan_groups(late=False)
    if any(row.status in ("fits", "uncertain") for row in result.rows):
        result.pruned |= result.late
    elif result.late:
        plan_groups(late=True)
    by_id = {card.id: card for card in cards}
    result.rows = _refine(spec, result, by_id, workers, progress)
    return result


def _sharing_traces(groups: Sequence[tuple[str, GPU]], network: str) -> list[int]:
    """The order in which to plan pairs of a precision and a card: those that share a trace, and
    then the kernels of its ops, follow each other, since only the latest traces are cached."""
    keys = [
        (precision, traced_properties(network, card), (card.units, card.compute_capability))
        for precision, card in groups
    ]
    firsts = [{key[:n]: place for place, key in reversed(list(enumerate(keys)))} for n in (1, 2, 3)]
    return sorted(
        range(len(groups)),
        key=lambda place: [first[keys[place][: n + 1]] for n, first in enumerate(firsts)],
    )


def of_card(
    spec: Spec, size: NetworkSize, group: tuple[str, GPU], late: bool = False
) -> SearchResult:
    """Plan every split, engine and count of one precision on one card. Splits that `prompt_bound`
    rejects add only their reasons; with `late`, only these splits are planned."""
    precision, card = group
    result = SearchResult([], {}, {})
    for split in splits(spec, card, precision, size):
        name = card.name if split == 1 else f"{card.name}, tp={split}"
        key = f"{name}, {precision}"
        if shortage := (
            bound(spec, card, precision, size, split)
            or _uncounted(spec, card, split)
            or products_bound(spec, card, precision, size)
        ):
            result.pruned[key], result.shortages[key] = shortage.reason, shortage
            continue
        reason = prompt_bound(spec, card, precision, size, split)
        if reason and not late:
            result.late[key] = reason
        layouts: list[tuple[int, int] | None] = [None] if bool(reason) == late else []
        if not late:  # decode servers do not wait for prompts
            layouts += spec.candidates.disaggregated
        for engine in spec.candidates.engines_of(card.id) if layouts else ():
            try:
                one = machine(spec.workload, card, precision, engine, split)
            except InputError as error:
                result.pruned[f"{name}, {engine}, {precision}"] = str(error)
                continue
            for pools in layouts:
                with_pools = replace(one, pools=pools)
                result.machines[card.id, engine, precision, split, pools] = with_pools
                _counts(spec, card, engine, precision, with_pools, result)
    return result


def _uncounted(spec: Spec, card: GPU, gpus: int) -> Shortage | None:
    """The reason why no count of GPUs makes whole replicas of `gpus` each; None if one does."""
    counts = spec.candidates.counts_of(card.id)
    if any(count % gpus == 0 for count in counts):
        return None
    return Shortage(f"no count of {', '.join(map(str, counts))} is a multiple of {gpus}")


def _so_far(rows: list[Row], currency: Currency) -> str:
    """The cheapest row that fits, for the progress line, or an empty string."""
    fits = [row for row in rows if row.status == "fits"]
    if not fits:
        return ""
    best = min(fits, key=lambda row: (row.usd_per_h is None, row.cost))
    price = "" if best.usd_per_h is None else f", {currency.text(best.usd_per_h)} an hour"
    return f"; best so far {best.configuration}{price}"


def _counts(
    spec: Spec, card: GPU, engine: str, precision: str, one: Machine, result: SearchResult
) -> None:
    """Add rows with increasing counts; stop one count after the first that fits."""
    quick = replace(spec, requests=min(_SCREENED, spec.requests))
    fits = 0
    split = "" if one.split == 1 else f", tp={one.split}"
    if one.pools is not None:
        split += f", {one.pools[0]}:{one.pools[1]}"
    if shortage := _uncounted(spec, card, one.gpus):
        result.pruned[f"{card.name}{split}, {engine}, {precision}"] = shortage.reason
    whole = [n for n in spec.candidates.counts_of(card.id) if n % one.gpus == 0]
    for count in whole:
        if fits == 2:
            name = f"{count} × {card.name}{split}, {engine}, {precision}"
            result.pruned[name] = "fewer GPUs of this kind meet every limit"
            continue
        row = candidate(quick, card, count, engine, precision, one, MIDDLE)
        result.rows.append(row)
        if row.status == "no memory":
            break
        fits += row.status in _IN_TIME


def _mapped(
    function: Callable[[Task], Result], tasks: Sequence[Task], workers: int
) -> Iterator[Result]:
    """The results of tasks in order, from several processes. If a process dies, for example because
    memory runs out, this process does the remaining tasks."""
    done = 0
    if workers > 1 and len(tasks) >= 8:
        try:
            with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
                for result in pool.map(function, tasks):
                    done += 1
                    yield result
        except BrokenProcessPool:
            pass
    yield from map(function, tasks[done:])


def _refine(
    spec: Spec, result: SearchResult, cards: dict[str, GPU], workers: int, progress: Progress
) -> list[Row]:
    """Simulate the cheapest rows that fit, or the nearest, with the whole load and intervals."""
    order = sorted(
        (
            r
            for r in result.rows
            if r.status in (*_IN_TIME, "too slow") and r.first_token_s is not None
        ),
        key=lambda row: (
            row.status not in _IN_TIME,
            row.usd_per_h is None,
            row.cost if row.status in _IN_TIME else _worst_ratio(spec, row),
        ),
    )[:_REFINED]
    tasks = [
        _Finalist(
            row,
            cards[row.gpu],
            result.machines[row.server],
            place < _BEST,
        )
        for place, row in enumerate(order)
    ]
    simulated: dict[int, Row] = {}
    rows = _mapped(partial(_in_full, spec), tasks, workers)
    for row in order:
        progress(f"simulating {row.configuration}")
        simulated[id(row)] = next(rows)
    return [simulated.get(id(row), row) for row in result.rows]


class _Finalist(NamedTuple):
    row: Row
    card: GPU
    machine: Machine
    is_best: bool


def _in_full(spec: Spec, finalist: _Finalist) -> Row:
    """Simulate a row with the whole load and the interval of its steps; resample the best rows."""
    row, card, one, is_best = finalist
    full = candidate(spec, card, row.count, row.engine, row.precision, one)
    if is_best and full.first_token_s is not None:
        return refined(spec, full, card, one)
    return full


def _worst_ratio(spec: Spec, row: Row) -> float:
    """The largest ratio of a row's figures to their limits."""
    limits = spec.limits
    pairs = (
        (row.first_token_s, limits.first_token_s),
        (row.per_token_s, limits.per_token_s),
        (row.latency_s, limits.latency_s),
    )
    return max((v / limit for v, limit in pairs if v is not None and limit), default=1.0)

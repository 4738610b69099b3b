"""The candidates of a plan as cards: the counts and engines to try for each GPU, and its price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from app.answers.plan.draft import Draft, can_run
from app.quantities import number
from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.planning.prices import price
from simulator.planning.serve_search import listed
from simulator.planning.spec import ENGINES, SERVERS

Dimension = Literal["counts", "engines"]
_COUNTS = (1, 2, 4, 8)
_NOUN: dict[Dimension, str] = {"counts": "count", "engines": "engine"}


@dataclass(frozen=True)
class CandidateCard:
    """One GPU of the plan. `counts` and `engines` map each choice to whether it is tried; `price`
    is the price of a GPU-hour in `currency`, or empty; `source` is "yours" or the list's date,
    `source_whole` the full source of the price."""

    id: str
    title: str
    use: bool
    counts: tuple[tuple[str, bool], ...]
    engines: tuple[tuple[str, bool], ...]
    price: str
    source: str
    source_whole: str
    detail: str
    currency: str = "USD"


def candidate_cards(draft: Draft) -> tuple[CandidateCard, ...]:
    """The cards in the order of the spec, including the cards that are switched off."""
    spec = draft.spec
    chosen = spec.candidates
    offered = [e for e in ENGINES if spec.workload.kind == "serving" or e not in SERVERS]
    currency = spec.prices.currency
    cards: list[CandidateCard] = []
    for card in listed(chosen, everyone=True):
        counts, engines = chosen.counts_of(card.id), chosen.engines_of(card.id)
        if spec.workload.kind != "serving":
            engines = tuple("compiled+graph" if e in SERVERS else e for e in engines)
        paid = price(card, spec.prices)
        whole = paid.source if paid else "no price is known; type yours"
        cards.append(
            CandidateCard(
                card.id,
                card.name,
                chosen.uses(card.id),
                tuple((f"{n}", n in counts) for n in sorted({*_COUNTS, *counts})),
                tuple((e, e in engines) for e in offered),
                f"{paid.usd_per_h / currency.usd:.2f}" if paid else "",
                "no price" if paid is None else whole.partition(":")[0].partition(",  ")[0],
                whole,
                f"{card.memory_bytes / 2**30:.0f} GiB, "
                f"{number(card.bandwidth_bytes_per_s / 1e12)} TB/s",
                currency.name,
            )
        )
    return tuple(cards)


def with_gpu(draft: Draft, name: str) -> Draft:
    """Add a GPU to the candidates. Raises InputError if it is a candidate already."""
    card = gpu(name)
    known = [each.id for each in listed(draft.spec.candidates, everyone=True)]
    if card.id in known:
        if draft.spec.candidates.uses(card.id):
            raise InputError(f"{card.name} is already a candidate; change its card")
        return switched(draft, card.id, True)
    return draft.put([*draft.table["candidates"]["gpus"], card.id], "candidates", "gpus")


def with_network(draft: Draft, name: str) -> Draft:
    """Set the network of the workload. For a service, `name` may name the prompt or the decode step
    of the network. Raises InputError if the workload cannot run it, or runs it already."""
    kind = draft.spec.workload.kind
    network = name.removesuffix("-decode") if kind == "serving" else name
    if not can_run(kind, network):
        needed = "one that decodes, such as llama3-8b" if kind == "serving" else "one that trains"
        raise InputError(f"{name} cannot be planned for {kind}: expected {needed}; choose another")
    if network == draft.get("workload", "network"):
        raise InputError(f"the plan is for {network} already; choose another network")
    return draft.put(network, "workload", "network")


def without_gpu(draft: Draft, gpu_id: str) -> Draft:
    """Remove a GPU with its choices; the spec keeps its price. Raises InputError if it is the only
    GPU."""
    rest = [c.id for c in listed(draft.spec.candidates, everyone=True) if c.id != gpu_id]
    if not rest:
        raise InputError("the only candidate cannot be removed; add another GPU first")
    names = draft.table["candidates"].get("gpus", "all")
    if names == "all" or "all" in names:
        remaining = rest
    else:
        remaining = [name for name in names if gpu(name).id != gpu_id]
    return _without_own(draft, gpu_id).put(remaining, "candidates", "gpus")


def switched(draft: Draft, gpu_id: str, use: bool) -> Draft:
    """Switch a GPU on or off; its choices are kept. Raises InputError if it is the last one on."""
    on = {c.id for c in listed(draft.spec.candidates)} - {gpu_id}
    if not use and not on:
        raise InputError("the last GPU that is on cannot be switched off; switch on another first")
    return draft.put(None if use else False, "candidates", "per_gpu", _own(draft, gpu_id), "use")


def toggled(draft: Draft, gpu_id: str, dimension: Dimension, name: str) -> Draft:
    """Try a count or an engine of one GPU, or stop trying it. Raises InputError if it is the last
    one of the GPU."""
    card = next(c for c in candidate_cards(draft) if c.id == gpu_id)
    offered = card.counts if dimension == "counts" else card.engines
    chosen = [each for each, on in offered if on != (each == name)]
    if not chosen:
        raise InputError(
            f"{card.title} needs at least one {_NOUN[dimension]}; choose another first, or switch "
            "the card off"
        )
    value: list[Any] = [int(n) for n in chosen] if dimension == "counts" else chosen
    return draft.put(value, "candidates", "per_gpu", _own(draft, gpu_id), dimension)


def priced(draft: Draft, gpu_id: str, text: str) -> Draft:
    """Set the user's price per GPU-hour, in the currency of the plan unless it has a unit. An empty
    text restores the price of the list."""
    name = _named(draft.get("prices", "hourly") or {}, gpu_id)
    bare = text.replace(".", "", 1).replace(",", "").isdigit()
    own = draft.spec.prices.currency.name
    return draft.put((f"{text} {own}/h" if bare else text) or None, "prices", "hourly", name)


def _own(draft: Draft, gpu_id: str) -> str:
    """The section of the spec that holds the choices of a single GPU."""
    return _named(draft.get("candidates", "per_gpu") or {}, gpu_id)


def _named(section: dict[str, Any], gpu_id: str) -> str:
    return next((name for name in section if gpu(name).id == gpu_id), gpu_id)


def _without_own(draft: Draft, gpu_id: str) -> Draft:
    return draft.put(None, "candidates", "per_gpu", _own(draft, gpu_id))

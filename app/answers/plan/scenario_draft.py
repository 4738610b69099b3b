"""The draft of a session without a plan: the open scenario as a workload."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import NamedTuple

from app.answers.plan.draft import Draft, can_run, checked, first, of_table, work_of
from simulator.errors import InputError
from simulator.hardware.gpu import GPU, gpu, gpus
from simulator.networks.catalogue import CATALOGUE
from simulator.planning.serve_search import listed
from simulator.planning.spec import PRECISIONS, WorkloadKind
from simulator.scenario.scenario import Scenario


def of_scenario(scenario: Scenario) -> Draft:
    """A draft with a scenario's network, kind of step, sequence, precision and GPU. Returns
    `first()` if a plan cannot contain the network, such as that of a saved trace. The last draft is
    cached: the planner's check takes 50 ms, and a page needs the draft several times."""
    global _last
    if scenario.trace_file is not None:
        return first()
    cards = _cards(scenario)
    if cards is None:
        return _of_scenario(scenario)
    last = _last
    if (
        last is None
        or last.key != scenario.key
        or len(last.cards) != len(cards)
        or not all(map(is_, last.cards, cards))
    ):
        last = _last = _Last(scenario.key, cards, _of_scenario(scenario))
    return last.draft


class _Last(NamedTuple):
    """A draft, with the key of its scenario and the GPUs that there were."""

    key: str
    cards: tuple[GPU, ...]
    draft: Draft


_last: _Last | None = None


def _cards(scenario: Scenario) -> tuple[GPU, ...] | None:
    """All GPUs, as objects that are equal as long as their files do not change, and that of the
    scenario; None if the draft depends on other files or a file is invalid."""
    if scenario.network not in CATALOGUE or not isinstance(scenario.gpu, str):
        return None
    try:
        return *gpus(), gpu(scenario.gpu)
    except InputError:
        return None


def _of_scenario(scenario: Scenario) -> Draft:
    kind, network = _kind_and_network(scenario)
    shared = {name: first().table[name] for name in ("candidates", "prices")}
    draft = of_table(work_of(kind, network) | shared)
    if kind != "serving":
        draft = draft.put(scenario.seq, "workload", "seq")
    if scenario.dtype in PRECISIONS:
        draft = draft.put([scenario.dtype], "candidates", "precisions")
    try:
        return checked(_with_gpu_first(draft, scenario.gpu))
    except InputError:
        return first()


def _kind_and_network(scenario: Scenario) -> tuple[WorkloadKind, str]:
    """The kind of workload that runs the scenario's step, and the name of its network in a plan."""
    if scenario.training:
        return "training", scenario.network
    served = scenario.network.removesuffix("-decode")
    return ("serving", served) if can_run("serving", served) else ("inference", scenario.network)


def _with_gpu_first(draft: Draft, name: str | Mapping[str, object]) -> Draft:
    """The draft with one more candidate, unless it is one already or is a GPU that the user
    defined."""
    if isinstance(name, Mapping) or (own := gpu(name).id) not in {card.id for card in gpus()}:
        return draft
    if own in {card.id for card in listed(draft.spec.candidates)}:
        return draft
    return draft.put([own, *draft.get("candidates", "gpus")], "candidates", "gpus")

"""The draft of a session without a plan: the open scenario as a workload."""

from __future__ import annotations

from collections.abc import Mapping

from app.answers.plan.draft import Draft, can_run, checked, first, of_table, work_of
from simulator.errors import InputError
from simulator.hardware.gpu import gpu, gpus
from simulator.planning.serve_search import listed
from simulator.planning.spec import PRECISIONS, WorkloadKind
from simulator.scenario.scenario import Scenario


def of_scenario(scenario: Scenario) -> Draft:
    """A draft with a scenario's network, kind of step, sequence, precision and GPU. Returns
    `first()` if a plan cannot contain the network, such as that of a saved trace."""
    if scenario.trace_file is not None:
        return first()
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

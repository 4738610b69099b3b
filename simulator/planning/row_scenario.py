"""The scenario of a candidate: the step that it runs most, to be opened as a prediction."""

from __future__ import annotations

from dataclasses import replace

from simulator.hardware.gpu import gpu
from simulator.planning.batches.search import batch_scenario
from simulator.planning.replica import lengths
from simulator.planning.result import Row
from simulator.planning.spec import Spec
from simulator.planning.step.tables import WHATIFS, base_scenario
from simulator.planning.step.traced_step import of_rank
from simulator.scenario.scenario import Scenario


def scenario_of(spec: Spec, row: Row) -> Scenario:
    """A candidate's step on one of its GPUs: of a server, the decode of its mean batch half way
    through the answers, captured unless it is eager, of one rank without its collectives where GPUs
    share a replica; else the batch that it runs."""
    if spec.workload.kind != "serving":
        step = batch_scenario(spec, gpu(row.gpu), row.engine, row.precision)
        return replace(step, batch=round(row.batch or 1))
    return of_rank(replica_of(spec, row), row.split)


def is_cluster_step(row: Row) -> bool:
    """Whether a row's server is predicted as a step over several GPUs: they share a replica, and
    its precision is not a what-if, which applies to one GPU alone."""
    return row.split > 1 and row.precision not in WHATIFS


def replica_of(spec: Spec, row: Row) -> Scenario:
    """The decode of a server, before GPUs that share it split it."""
    _, prompt, output = lengths(spec)
    mode = "eager" if row.engine == "eager" else "cuda_graph"
    decode = base_scenario(f"{spec.workload.network}-decode", gpu(row.gpu), row.precision, mode)
    return replace(decode, batch=max(round(row.batch or 1), 1), seq=round(prompt + output / 2))

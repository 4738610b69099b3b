"""The scenario of a candidate's most frequent step, which can be opened as a prediction."""

from __future__ import annotations

from dataclasses import replace

from simulator.hardware.gpu import gpu
from simulator.planning.batches.search import batch_scenario
from simulator.planning.result import Row
from simulator.planning.server.replica import lengths
from simulator.planning.spec import Spec
from simulator.planning.step.scenarios import WHATIFS, engine_scenario
from simulator.planning.step.traced_step import of_rank
from simulator.scenario.scenario import Scenario


def scenario_of(spec: Spec, row: Row) -> Scenario:
    """A candidate's step on one of its GPUs. For a server, the decode of its mean batch halfway
    through the answers, captured unless the engine is eager; one rank without collectives if GPUs
    share a replica. For other plans, the batch that the candidate runs."""
    if spec.workload.kind != "serving":
        step = batch_scenario(spec, gpu(row.gpu), row.engine, row.precision)
        return replace(step, batch=round(row.batch or 1))
    return of_rank(replica_of(spec, row), row.split, spec.workload)


def is_cluster_step(row: Row) -> bool:
    """Whether a row's server is predicted as a step over several GPUs: its GPUs share a replica,
    by tensor parallelism, and its precision is not a what-if, since what-ifs apply to one GPU."""
    return row.split > 1 and row.precision not in WHATIFS and not row.expert_parallel


def replica_of(spec: Spec, row: Row) -> Scenario:
    """The decode step of a server, before it is split over GPUs."""
    _, prompt, output = lengths(spec)
    name = f"{spec.workload.network}-decode"
    decode = engine_scenario(name, gpu(row.gpu), row.precision, row.engine, spec.workload.host)
    return replace(decode, batch=max(round(row.batch or 1), 1), seq=round(prompt + output / 2))

"""The scenario of a candidate: the step that it runs most, to be opened as a prediction."""

from __future__ import annotations

from dataclasses import replace

from simulator.hardware.gpu import gpu
from simulator.planning.batch_search import batch_scenario
from simulator.planning.result import Row
from simulator.planning.serve_plan import lengths
from simulator.planning.spec import Spec
from simulator.planning.tables import asked
from simulator.planning.traced_step import of_rank
from simulator.scenario.scenario import Scenario


def scenario_of(spec: Spec, row: Row) -> Scenario:
    """A candidate's step on one of its GPUs: of a server, the decode of its mean batch half way
    through the answers, captured unless it is eager, of one rank without its collectives where GPUs
    share a replica; else the batch that it runs."""
    card = gpu(row.gpu)
    if spec.workload.kind != "serving":
        return replace(
            batch_scenario(spec, card, row.engine, row.precision), batch=round(row.batch or 1)
        )
    _, prompt, output = lengths(spec)
    mode = "eager" if row.engine == "eager" else "cuda_graph"
    decode = asked(f"{spec.workload.network}-decode", card, row.precision, mode)
    decode = of_rank(decode, row.split)
    return replace(decode, batch=max(round(row.batch or 1), 1), seq=round(prompt + output / 2))

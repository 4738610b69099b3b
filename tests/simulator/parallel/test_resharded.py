"""An FSDP2 step over a different number of ranks, derived without tracing, equals the step that
torch runs.
"""

from dataclasses import replace

import pytest
from msgspec import structs

from simulator.cluster import cluster
from simulator.cluster.layout import layout
from simulator.cluster.step import NetworkStep
from simulator.parallel import network_step
from simulator.parallel.predict_step import predict_network
from simulator.parallel.resharding.resharded import resharded
from simulator.parallel.roles import Roles
from simulator.parallel.simulate import simulate_ranks
from simulator.parallel.whatifs import ClusterStep, changed
from simulator.tracing.parallel import program as tracing
from simulator.tracing.parallel.networks import program
from simulator.tracing.parallel.program import trace_rank

GPU = cluster("2xh200").gpu
SIZES = {"width": 258, "heads": 3, "vocab": 1001, "layers": 2}


def step(training=True):
    return NetworkStep("gpt2", 4, 64, "bf16", training, "adamw", SIZES)


def traced(text, ranks, training=True):
    spread = layout(text, cluster(f"{ranks}xh200"))
    return trace_rank(program(step(training), spread, 1), 0, ranks, GPU, ranks)


@pytest.mark.parametrize("more", ["reshard=0", "recompute"])
def test_other_numbers_of_ranks_equal_torchs_steps(more):
    """258 and 1001 rows do not divide: 258/4 = 64.5, rank 0 holds 65."""
    fields = {"reshard": more != "reshard=0", "recompute": more == "recompute"}
    layouts = {n: replace(layout("fsdp", cluster(f"{n}xh200")), **fields) for n in (2, 4)}
    few, whole = (trace_rank(program(step(), layouts[n], 1), 0, n, GPU, n) for n in (2, 4))
    other = resharded(few, (0, 1), (0, 1, 2, 3))
    assert [op.signature for op in other.ops] == [op.signature for op in whole.ops]
    assert [(op.collective, op.storages, op.stream, op.after) for op in other.ops] == [
        (op.collective, op.storages, op.stream, op.after) for op in whole.ops
    ]
    assert other.storages == whole.storages


def test_sizes_of_weights_do_not_follow_from_inference():
    assert resharded(traced("fsdp", 2, training=False), (0, 1), (0, 1, 2, 3)) is None


def test_another_number_of_replicas_is_not_traced_again(monkeypatch):
    network_step._SHARDED.clear()
    eight = cluster("8xh200")
    question = ClusterStep(step(), layout("fsdp", eight), eight)
    question.predict()
    monkeypatch.setattr(tracing, "trace_rank", None)
    four = changed(question, "dp=4").predict()
    assert four.ranks[0].ranks == (0, 1, 2, 3)
    monkeypatch.undo()
    network_step._SHARDED.clear()
    network_step._TRACES.clear()
    network_step._ROLES.clear()
    fresh = predict_network(step(), "fsdp", "4xh200")
    assert four.communication_s == pytest.approx(fresh.communication_s, rel=1e-3)
    assert four.peak_memory_bytes == fresh.peak_memory_bytes


@pytest.mark.parametrize(
    "text, what_if",
    [("fsdp", "dp=4"), ("fsdp", "link_speed=2"), ("ddp", "dp=4"), ("ddp", "bucket=1")],
)
def test_kernels_shared_with_another_step_are_those_of_the_step(text, what_if):
    """A copy of the trace shares nothing with other traces."""
    eight = cluster("8xh200")
    question = ClusterStep(step(), layout(text, eight), eight)
    question.predict()
    other = changed(question, what_if)
    shared = other.predict()
    trace = shared.ranks[0].trace
    alone = simulate_ranks(
        Roles({0: structs.replace(trace)}, (0,) * other.cluster.gpus),
        other.cluster,
        shared.host,
        "eager",
    )
    assert alone.period_s == shared.period_s
    assert alone.ranks[0].kernels == shared.ranks[0].kernels
    assert alone.shares == shared.shares

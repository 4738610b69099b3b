"""The buckets of one number of ranks, from those of another."""

from msgspec import structs

from simulator.cluster import cluster
from simulator.cluster.layout import layout
from simulator.cluster.step import NetworkStep
from simulator.parallel.buckets import bucketed
from simulator.parallel.network_step import whole_trace


def test_buckets_over_other_ranks_are_those_of_a_fresh_trace() -> None:
    machine = cluster("4xh200")
    step = NetworkStep("mlp-tiny", batch=4, training=True)
    trace = whole_trace(step, layout("ddp", machine), machine)
    four, two = bucketed(trace, (0, 1, 2, 3), 2**16), bucketed(trace, (0, 1), 2**16)
    assert two == bucketed(structs.replace(trace), (0, 1), 2**16) != four
    assert {op.collective.ranks for op in two.ops if op.collective} == {(0, 1)}

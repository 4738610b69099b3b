"""Predict one step of a user's own program over the GPUs of a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from simulator.cluster.cluster import Cluster
from simulator.cluster.cluster import cluster as find_cluster
from simulator.cluster.layout import Layout, layout
from simulator.cluster.modes import check_mode
from simulator.cluster.step import NetworkStep
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.parallel.network_step import network_roles
from simulator.parallel.prediction import ParallelPrediction
from simulator.parallel.roles import Roles, roles
from simulator.parallel.simulate import simulate_ranks
from simulator.records import Trace

if TYPE_CHECKING:
    from simulator.tracing.parallel.program import Make


def predict_step(
    make: Make,
    cluster: str | Cluster = "1xh200",
    host: str | Host | None = None,
    mode: str = "eager",
) -> ParallelPrediction:
    """Predict a step over the GPUs of a cluster.

    `make(rank, world_size)` returns the step as a callable.

    `make` is the program as it runs under torchrun: it may call init_process_group,
    init_device_mesh, DistributedDataParallel, fully_shard, parallelize_module,
    torch.distributed.pipelining and dist.*. It is run once for each distinct rank, on tensors
    without memory. `cluster` is an id (`ridgepoint clusters`), "4xh200" or a TOML file; `mode` is
    "eager" or "cuda_graph". Raises InputError if an argument is wrong or the program cannot be
    traced.
    """
    machine = find_cluster(cluster) if isinstance(cluster, str) else cluster
    driver = host if isinstance(host, Host) else find_host(host)
    check_mode(mode)
    return _simulated(trace_step(make, machine), machine, driver, mode)


def predict_network(
    step: NetworkStep,
    spread: str | Layout = "",
    cluster: str | Cluster = "1xh200",
    host: str | Host | None = None,
    mode: str = "eager",
) -> ParallelPrediction:
    """Predict a step of a network, given by name, under a layout such as "dp=2 tp=2 pp=2".

    Raises InputError if the layout does not divide the heads, the layers, the batch or the GPUs.
    """
    machine = find_cluster(cluster) if isinstance(cluster, str) else cluster
    driver = host if isinstance(host, Host) else find_host(host)
    check_mode(mode)
    if isinstance(spread, str):
        spread = layout(spread, machine)
    return _simulated(network_roles(step, spread, machine), machine, driver, mode)


def _simulated(roles: Roles, cluster: Cluster, host: Host, mode: str) -> ParallelPrediction:
    """The prediction of ranks that wait for the slowest of their hosts."""
    slowest = host.of_ranks(cluster.gpus)
    p = simulate_ranks(roles, cluster, slowest, mode)
    if slowest is host:
        return p
    times = slowest.launch_s / host.launch_s
    note = (
        f"the host takes {times:.2f} times as long as for one GPU, because {cluster.gpus} ranks "
        "wait for their slowest host; this is part of the step time"
    )
    return replace(p, notes=(*p.notes, note))


def trace_step(make: Make, cluster: Cluster) -> Roles:
    """The traces of the distinct ranks of a program on a cluster."""
    # torch is imported only to trace a step
    from simulator.tracing.parallel.program import Mail, trace_rank

    mail = Mail()

    def traced(rank: int) -> Trace:
        return trace_rank(make, rank, cluster.gpus, cluster.gpu, cluster.gpus_per_node, mail)

    return roles(traced, cluster.gpus)

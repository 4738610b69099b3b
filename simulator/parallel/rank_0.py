"""The trace of rank 0: from disk, from the process that runs a user's code, or traced here.

It is stored in the folder of the traces of one GPU, under a key of all its inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

import msgspec

from simulator.cluster import layout
from simulator.cluster import step as network_step
from simulator.cluster.cluster import Cluster
from simulator.cluster.layout import Layout
from simulator.cluster.step import NetworkStep
from simulator.errors import InputError
from simulator.formats.trace_file import decoded, encoded
from simulator.formats.trace_folder import TRACE_FOLDER
from simulator.isolated import ISOLATION
from simulator.isolated import rank_ops as ops_of_ranks
from simulator.isolated.rank_ops import RankOp, rank_ops, with_rank_ops
from simulator.isolated.steadiness import EVEN_IF_UNSTEADY, Steadiness
from simulator.networks.catalogue import CATALOGUE, depth
from simulator.networks.loading.loaded import Facts
from simulator.networks.loading.watching import watched
from simulator.records import Trace
from simulator.symbols.cache import TraceCache, network_digests
from simulator.symbols.cache import key as disk_key

_STEADY = Steadiness()


class _File(msgspec.Struct, frozen=True, array_like=True):
    """The content of a file: a trace of one GPU, and the fields that it omits."""

    trace: bytes
    rank_ops: list[RankOp]


def rank_0(step: NetworkStep, spread: Layout, cluster: Cluster, passes: int) -> Trace:
    """The trace of rank 0. Raises InputError if the step cannot be traced."""
    work = partial(trace_rank_0, step, spread, cluster, passes)
    if TRACE_FOLDER.path is None:
        return _traced(step.network, work)
    store = TraceCache(TRACE_FOLDER.path, damaged=TRACE_FOLDER.report)
    name = _name(step, spread, cluster, passes)
    content = store.rank(name)
    if content is not None:
        try:
            return _decoded(content, name)
        except (InputError, msgspec.MsgspecError):
            TRACE_FOLDER.report(store.folder / f"{name}.rank")
    trace = _traced(step.network, work)
    if EVEN_IF_UNSTEADY.get() or not TRACE_FOLDER.leaves_out(step.network):
        store.put_rank(name, msgspec.msgpack.encode(_File(encoded(trace), rank_ops(trace))))
    return trace


def _decoded(content: bytes, name: str) -> Trace:
    file = msgspec.msgpack.decode(content, type=_File)
    return with_rank_ops(decoded(file.trace, name), file.rank_ops)


def _name(step: NetworkStep, spread: Layout, cluster: Cluster, passes: int) -> str:
    """The key of a trace on disk. Parts of the layout that are added to the trace later do not
    count."""
    fields = {name: getattr(step, name) for name in NetworkStep.__dataclass_fields__}
    del fields["network"]
    world = spread.dp * spread.tp
    return disk_key(
        step.network,
        cluster.gpu,
        **fields,
        dp=spread.dp,
        tp=spread.tp,
        fsdp=spread.fsdp,
        reshard=spread.reshard,
        prefetch=spread.prefetch,
        recompute=spread.recompute,
        gpus_per_node=min(world, cluster.gpus_per_node),
        passes=passes,
        by=_sources(),
    )


@cache
def _sources() -> str:
    """A digest of the files that call the tracer and store its traces."""
    paths = (__file__, layout.__file__, network_step.__file__, ops_of_ranks.__file__)
    return sha256(b"".join(Path(path).read_bytes() for path in paths)).hexdigest()


def _traced(network: str, work: Callable[[], tuple[Trace, Facts]]) -> Trace:
    child = ISOLATION.process_for(network)
    run = partial(child.trace, network, work) if child else work
    state = tuple(network_digests(network).items())
    return _STEADY.traced(network, state, run, child)[0]


def trace_rank_0(
    step: NetworkStep, spread: Layout, cluster: Cluster, passes: int
) -> tuple[Trace, Facts]:
    """The trace of rank 0 by this process, with a progress watch. Raises InputError if the step
    cannot be traced."""
    # torch is imported only to trace a step
    from simulator.tracing.parallel.networks import program
    from simulator.tracing.parallel.program import (
        WARM_UPS,
        WARM_UPS_WITHOUT_DDP,
        trace_plain_rank,
        trace_rank,
    )
    from simulator.tracing.python_code.user_code import place_of

    world = spread.dp * spread.tp
    has_ddp = spread.dp > 1 and not spread.fsdp
    warm_ups = WARM_UPS_WITHOUT_DDP if _is_steady(step) and not has_ddp else WARM_UPS
    is_plain = step.network in CATALOGUE and spread.dp == 1 and not spread.recompute
    trace = trace_plain_rank if is_plain else trace_rank
    with watched(f"tracing {step.network}", place_of):
        traced = trace(
            program(step, spread, passes),
            0,
            world,
            cluster.gpu,
            min(world, cluster.gpus_per_node),
            warm_ups=warm_ups,
        )
    return traced, Facts(step.network)


def _is_steady(step: NetworkStep) -> bool:
    """Whether the second step has the ops and storages of the third, as in networks of identical
    blocks, except recurrent ones."""
    if depth(step.network, step.sizes) is None:
        return False
    return ".recurrent:" not in CATALOGUE[step.network].factory

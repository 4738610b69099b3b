"""Collectives and the copies of FSDP2 around them.

`simulator.collectives` times a collective; this module counts the bytes that it moves through the
memory of its GPU.
"""

from __future__ import annotations

from simulator.costs.registry import Work, cost
from simulator.records import Signature


@cost(
    "c10d.allreduce_.default",
    "c10d.allreduce_coalesced_.default",
    "c10d._allgather_base_.default",
    "c10d.allgather_.default",
    "c10d.allgather_coalesced_.default",
    "c10d.allgather_into_tensor_coalesced_.default",
    "c10d._reduce_scatter_base_.default",
    "c10d.reduce_scatter_.default",
    "c10d.reduce_scatter_tensor_coalesced_.default",
    "c10d.alltoall_.default",
    "c10d.alltoall_base_.default",
    "c10d.broadcast_.default",
    "c10d.reduce_.default",
    "c10d.gather_.default",
    "c10d.scatter_.default",
    "c10d.send.default",
    "c10d.recv_.default",
    "c10d.recv_any_source_.default",
    "c10d.barrier.default",
    "_c10d_functional.all_reduce.default",
    "_c10d_functional.all_reduce_.default",
    "_c10d_functional.all_reduce_coalesced.default",
    "_c10d_functional.all_reduce_coalesced_.default",
    "_c10d_functional.all_gather_into_tensor.default",
    "_c10d_functional.all_gather_into_tensor_out.default",
    "_c10d_functional.all_gather_into_tensor_coalesced.default",
    "_c10d_functional.reduce_scatter_tensor.default",
    "_c10d_functional.reduce_scatter_tensor_out.default",
    "_c10d_functional.reduce_scatter_tensor_coalesced.default",
    "_c10d_functional.all_to_all_single.default",
    "_c10d_functional.broadcast.default",
    "_c10d_functional.broadcast_.default",
    "_c10d_functional.isend.default",
    "_c10d_functional.irecv.default",
)
def collective(op: Signature) -> Work:
    """A collective reads the bytes that it sends, and writes the bytes that it receives."""
    return Work("collective", 0, op.read_bytes, op.write_bytes)


@cost("_c10d_functional.wait_tensor.default", "_c10d_functional._wrap_tensor_autograd.default")
def wait(op: Signature) -> tuple[Work, ...]:
    """The stream waits; nothing is launched."""
    return ()


@cost("fsdp.all_gather_copy_in.default")
def copy_in(op: Signature) -> Work:
    """Copy the sharded parameters into this rank's part of the buffer, in one foreach copy."""
    return _moved(sum(t.nbytes for t in op.inputs[:-1]), op)


@cost("fsdp.split_with_sizes_copy.default", "aten.split_with_sizes_copy.out")
def copy_out(op: Signature) -> Work:
    """Copy the gathered buffer into the parameters, in one kernel."""
    return _moved(op.inputs[0].nbytes, op)


@cost("fsdp.chunk_cat.default", "aten._chunk_cat.out")
def chunk_cat(op: Signature) -> Work:
    """Copy the gradients into the buffer of the reduce-scatter, in one kernel."""
    return _moved(sum(t.nbytes for t in op.inputs[:-1]), op)


def _moved(nbytes: int, op: Signature) -> Work:
    first = op.inputs[0]
    elements = nbytes // first.itemsize
    dims = {"elements": elements, "inputs": 1, "contiguous": True}
    return Work("pointwise", 0, nbytes, nbytes, instructions=2 * elements, dims=dims)

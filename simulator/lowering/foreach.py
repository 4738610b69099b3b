"""A list op as the launches that carry it: each takes as many chunks as its arguments can name."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs import Work
from simulator.costs.optimizers import multi_tensor_launches
from simulator.hardware import GPU
from simulator.lowering.registry import lowering
from simulator.records import Signature


@lowering("foreach")
def foreach(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """Equal launches; what does not divide is in the last one, so that the totals stay."""
    d = work.dims
    count = multi_tensor_launches(d["numels"], d["lists"], scalar_list=bool(d["scalars"]))
    if count <= 1:
        return (work,) if count else ()
    parts = {name: getattr(work, name) for name in ("flops", "read_bytes", "write_bytes",
                                                     "instructions")}  # fmt: skip
    each = {name: total // count for name, total in parts.items()}
    last = {name: total - each[name] * (count - 1) for name, total in parts.items()}
    slim = {"elements": d["elements"] // count, "lists": d["lists"]}
    one = replace(work, **each, dims=slim)
    return (*[one] * (count - 1), replace(work, **last, dims=slim))

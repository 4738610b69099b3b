"""A list op as the launches that carry it: each takes as many chunks as its arguments can name."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs import Work
from simulator.costs.foreach import multi_tensor_launches
from simulator.hardware.gpu import GPU
from simulator.lowering.registry import lowering
from simulator.records import Signature


@lowering("foreach")
def foreach(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """Each launch has the part of the work that its elements are of all. The longest chunk is the
    last to be done: `rows` such chunks would be the launch. Equal launches are one object."""
    d = work.dims
    found = multi_tensor_launches(d["numels"], d["lists"], scalar_list=bool(d["scalars"]))
    total = max(1, d["elements"])
    works: list[Work] = []
    made: dict[tuple[object, ...], Work] = {}
    done = 0
    for launch in found:
        before, done = done, done + launch.elements
        parts = {
            name: amount * done // total - amount * before // total
            for name in ("flops", "read_bytes", "write_bytes", "instructions")
            if (amount := getattr(work, name))
        }
        dims = {
            "elements": launch.elements,
            "lists": d["lists"],
            "scalars": d["scalars"],
            "blocks": launch.blocks,
            "rows": launch.elements / launch.longest,
            "ragged": launch.ragged / launch.elements,
        }
        if "variant" in d:
            dims["variant"] = d["variant"]
        key = *parts.values(), *dims.values()
        works.append(made.setdefault(key, replace(work, **parts, dims=dims)))
    return tuple(works)

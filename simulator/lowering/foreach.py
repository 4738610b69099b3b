"""Launches of a list op: each takes as many chunks as fit into its arguments."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs import Work
from simulator.costs.pointwise.foreach import multi_tensor_launches
from simulator.hardware.gpu import GPU
from simulator.lowering.registry import lowering
from simulator.records import Signature


@lowering("foreach")
def foreach(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """Divide the work among the launches in proportion to their elements.

    The longest chunk finishes last; `rows` is the launch in units of that chunk. Equal launches are
    the same object.
    """
    d = work.dims
    launches = multi_tensor_launches(d["numels"], d["lists"], scalar_list=bool(d["scalars"]))
    total = max(1, d["elements"])
    works: list[Work] = []
    distinct: dict[tuple[object, ...], Work] = {}
    end = 0
    for launch in launches:
        start, end = end, end + launch.elements
        parts = {
            name: amount * end // total - amount * start // total
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
        works.append(distinct.setdefault(key, replace(work, **parts, dims=dims)))
    return tuple(works)

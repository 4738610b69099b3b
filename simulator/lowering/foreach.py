"""Launches of a list op: each takes as many chunks as fit into its arguments."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from simulator.costs import Work
from simulator.costs.pointwise.foreach import MultiTensorLaunch, multi_tensor_launches
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
    names = ("flops", "read_bytes", "write_bytes", "instructions")
    amounts = {name: amount for name in names if (amount := getattr(work, name))}
    works: list[Work] = []
    distinct: dict[tuple[object, ...], Work] = {}
    end = 0
    for launch in launches:
        start, end = end, end + launch.elements
        parts = [amount * end // total - amount * start // total for amount in amounts.values()]
        key = launch, *parts
        if key not in distinct:
            own = dict(zip(amounts, parts, strict=True))
            distinct[key] = replace(work, **own, dims=_dims(launch, d))
        works.append(distinct[key])
    return tuple(works)


def _dims(launch: MultiTensorLaunch, dims: dict[str, Any]) -> dict[str, Any]:
    """The dims of a launch of a work with these `dims`."""
    return {
        "elements": launch.elements,
        "lists": dims["lists"],
        "scalars": dims["scalars"],
        "blocks": launch.blocks,
        "rows": launch.elements / launch.longest,
        "ragged": launch.ragged / launch.elements,
        **({"variant": dims["variant"]} if "variant" in dims else {}),
    }

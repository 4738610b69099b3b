"""The work of a generated kernel: the bytes that it reads and writes, and its arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.costs import Work, cost
from simulator.fusion.lowering.arithmetic import PERSISTENT
from simulator.fusion.node import Node
from simulator.fusion.scheduling import by_hand
from simulator.records import Signature

_LONGEST = 2048  # elements of a row that a block of threads reads at a time


def arguments(
    nodes: Sequence[Node],
    operands: int,
    work: tuple[int, int],
    ops: str,
    generated: bool = True,
    sums: int = 0,
) -> dict[str, Any]:
    """The arguments of a fused op: `work` is the FLOPs and instructions of its arithmetic; for each
    of `operands` a load or store per element is added. A kernel is `generated` by a compiler, or
    handwritten; for a handwritten one, `sums` is the number of its serial sums over rows."""
    reduced = next((node for node in nodes if node.kind == "reduction"), None)
    elements = max((node.elements for node in nodes), default=0)
    rows = reduced.rows if reduced is not None and reduced.inner else 0
    cols = reduced.cols if reduced is not None else 0
    slots = work[1] + operands * elements
    if generated and rows and cols:
        slots = slots * lanes(cols) // cols
    if not generated and elements:
        slots = by_hand.slots(work[1], operands, elements, rows, cols)
    return {
        "flops": work[0],
        "instructions": slots,
        "rows": rows,
        "ops": ops,
        "elements": elements,
        "cols": cols,
        "looped": reduced is not None and reduced.looped,
        "operands": operands,
        "generated": generated,
        "sums": sums,
    }


def lanes(cols: int) -> int:
    """The lanes that a generated kernel uses for a row of `cols` elements, of which some are
    masked: a power of two, or blocks of 2048 (`triton_config_reduction` and `_reduction_configs` of
    torch/_inductor/runtime/triton_heuristics.py)."""
    block = min(1 << (cols - 1).bit_length(), _LONGEST)
    return -(-cols // block) * block


@cost("fused.pointwise.default", "fused.reduction.default")
def fused(op: Signature) -> Work:
    """One launch, which reads each external value once and writes each needed value once."""
    generated = op.arg("generated", False)
    rows, cols, elements = (op.arg(name, 0) for name in ("rows", "cols", "elements"))
    kernel_dims = dims(
        op.name.split(".")[1],
        op.arg("instructions", 0),
        rows,
        cols,
        elements,
        op.arg("operands", 0),
        op.arg("looped"),
    )
    if not generated and elements:
        kernel_dims |= by_hand.cut(
            op.arg("instructions", 0), elements, rows, cols, op.arg("sums", 0)
        )
    return Work(
        "generated" if generated else "fused",
        op.arg("flops", 0),
        op.read_bytes,
        op.write_bytes,
        instructions=op.arg("instructions", 0),
        dims=kernel_dims,
    )


def dims(
    kind: str,
    instructions: int,
    rows: int,
    cols: int,
    elements: int,
    operands: int,
    looped: bool | None = None,
) -> dict[str, Any]:
    """The dimensions that select a fused kernel's curve. The elements of a result are in one of
    `rows` rows, or across rows if `rows` is 0; `steps` are the serial instructions of one element.
    If `looped` is None, kernels of long rows are looped."""
    named: dict[str, Any] = {"variant": "across" if kind == "reduction" and not rows else kind}
    if rows:
        named["rows"] = rows
    if cols:
        looped = cols > PERSISTENT if looped is None else looped
        named |= {"cols": cols, "looped": bool(rows) and looped}
    if elements:
        named |= {"elements": elements, "steps": -(-instructions // elements)}
    return named | {"operands": operands}

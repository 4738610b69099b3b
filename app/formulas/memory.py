"""Formula of the memory of a step."""

from __future__ import annotations

from app.answers.figures import memory_parts
from app.formulas.formula import Formula
from app.quantities import data, percent
from simulator.prediction import Prediction


def peak(p: Prediction) -> Formula:
    """Bytes in memory at the peak, against the capacity."""
    need, room = p.peak_memory_bytes + p.workspace_bytes, p.gpu.memory_bytes
    parts = " + ".join(f"{data(size)} {name}" for name, size in memory_parts(p))
    fits = f"{data(need)} of {data(room)}, {percent(need / room)}"
    return Formula(
        "Memory",
        "bytes in memory at the peak op + workspace of the libraries",
        f"{parts or '0 B'} = {data(need)}",
        f"It {'fits' if p.fits else 'does not fit'}: {fits}. The peak is at op "
        f"{p.memory.peak_op + 1:,} of {len(p.trace.ops):,}.",
        "08-recompute",
    )

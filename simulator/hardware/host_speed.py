"""The speed of a host relative to another one, part by part, from fixed steps timed on both.

`calibration.measure.instruments.host_index` names the steps and times them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import median
from typing import NamedTuple

from simulator.errors import InputError

PYTHON = {
    "instruction": "instructions",
    "cold_instruction": "cold_instructions",
    "attribute": "attributes",
    "c_call": "c_calls",
    "python_call": "python_calls",
    "module_call": "module_calls",
}
"""Work of the interpreter, and the field of an op that counts it."""
ON_CPU_MARK = "@cpu"
"""The suffix of the names of steps that run on the CPU and launch nothing."""
_PYTHON = ("identities", "pythoncalls")
_VIEWS = ("views", "transposes")


class Parts(NamedTuple):
    """Time of each part of the host, relative to another host."""

    interpreter: float
    dispatcher: float
    driver: float

    def of(self, count: str) -> float:
        """The time factor of the part of the host that does a kind of counted work."""
        if count in PYTHON:
            return self.interpreter
        return self.driver if count == "launch" else self.dispatcher


def parts(measured: Mapping[str, float], reference: Mapping[str, float]) -> Parts:
    """The time of each part of the measured host, relative to the reference: the median ratio over
    the steps that the part dominates, or over all steps if it dominates none. Raises InputError if
    they share no step.

    driver        ops that launch a kernel, the dispatcher's work on them included
    dispatcher    the same ops; ops on the CPU if no step launches a kernel
    interpreter   the geometric mean of the ratios of steps that call Python functions and modules,
                  and of ops. A second process on the same core slows such steps, which are loops in
                  the caches, twice as much as networks, which wait for memory.
    """
    shared = [name for name in reference if name in measured]
    if not shared:
        raise InputError(
            f"no host case in common: found {', '.join(measured) or 'none'}, expected some of "
            f"{', '.join(reference) or 'none'}; measure both hosts with this version"
        )

    def times(names: Sequence[str]) -> float:
        return median(measured[name] / reference[name] for name in names or shared)

    python = [name for name in shared if name.startswith(_PYTHON)]
    others = [name for name in shared if not name.startswith((*_PYTHON, *_VIEWS))]
    launching = [name for name in others if not name.endswith(ON_CPU_MARK)]
    ops = times(launching or others)
    return Parts(sqrt(times(python) * ops), ops, ops)


def index_at(reference: Mapping[str, float], times: Parts) -> dict[str, float]:
    """The times of the fixed steps on a host that takes `times` as long as the reference. This is
    the inverse of `parts`."""
    python = times.interpreter**2 / times.driver
    return {
        name: seconds * (python if name.startswith(_PYTHON) else times.driver)
        for name, seconds in reference.items()
    }

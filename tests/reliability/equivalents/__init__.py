"""Mutants that change no result, each with its proof: no test can kill them, and the summary of a
run counts them among the survivors."""

from __future__ import annotations

from typing import Any

from tests.reliability.equivalents.compiled import COMPILED
from tests.reliability.equivalents.costs import COSTS
from tests.reliability.equivalents.steps import STEPS

EQUIVALENTS = (*COSTS, *COMPILED, *STEPS)


def proof(answer: dict[str, Any]) -> str:
    """The proof that a surviving mutant changes no result; "" without one."""
    for each in EQUIVALENTS:
        at, _, change = answer["key"].partition(" ")
        if (at.partition(":")[0], change, answer["line"]) == each[:3]:
            return each.why
    return ""

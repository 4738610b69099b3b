"""Advice in full sentences, in two groups: change the software, or the hardware."""

from __future__ import annotations

from app.quantities import plain, trimmed
from simulator.analysis.advice import Advice
from simulator.scenario.parameters import Parameter
from simulator.scenario.registry import named

GROUPS = ("Change the software", "Change the hardware")


def sentence(advice: Advice) -> str:
    """The advice as a sentence: "Capture the step in a CUDA graph." """
    applied = advice.scenario.whatifs[-1]
    whatif = named(applied.name)
    arguments = {p.name: p.default for p in whatif.parameters} | dict(applied.arguments)
    if callable(whatif.sentence):
        return f"{whatif.sentence(arguments)}."
    if not whatif.sentence:
        text = applied.name.replace("_", " ")
        return f"{text[:1].upper()}{text[1:]}."
    words = {p.name: _words(p, arguments[p.name]) for p in whatif.parameters}
    return f"{whatif.sentence.format_map(words)}."


def group(advice: Advice) -> str:
    """The group of `GROUPS` that advice belongs to."""
    return GROUPS[advice.changes == "machine"]


def _words(parameter: Parameter, value: object) -> str:
    """An argument in a sentence: "twice" or "1.1 times" for a factor, else the value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if parameter.unit != "×":
        return _number(value)
    return {2.0: "twice", 0.5: "half"}.get(value, f"{_number(value)} times")


def _number(value: float) -> str:
    return trimmed(f"{value:.3f}") if isinstance(value, float) else plain(value)

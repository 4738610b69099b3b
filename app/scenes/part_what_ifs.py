"""What-ifs on one node of the module tree: a module, matching modules, or an op."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.answers.cards import cards, display_name
from app.answers.subject import to_full_text
from app.scenes.module_tree import ModuleNode
from simulator.errors import InputError
from simulator.prediction import Prediction
from simulator.scenario.parameters import Parameter
from simulator.scenario.registry import WhatIf, registered
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply, whatifs

_SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float64": "fp64"}


@dataclass(frozen=True)
class PartChange:
    """A what-if on a part: its text and the scenario with it. If it does not apply, the scenario is
    None and the text is the reason. `name` is the title without the value of a choice."""

    title: str
    words: str
    scenario: Scenario | None
    name: str = ""


def pattern(part: ModuleNode) -> str:
    """The module pattern of a part or, for an op, the pattern of its module."""
    of = part if part.modules or part.parent is None else part.parent
    return of.path.replace(".*", ".#")


def is_of_whole(key: str, part: ModuleNode | None) -> bool:
    """Whether a card concerns the whole scenario: it is on the step, beside all parts, or has no
    module pattern."""
    kind, _, name = key.partition(":")
    whatif = registered(name) if kind == "whatif" else None
    of_parts = whatif is not None and _patterned(whatif) is not None
    return not of_parts or part is None or part.parent is None


def dropped(key: str, part: ModuleNode | None, scenario: Scenario, p: Prediction) -> PartChange:
    """The effect of dropping a card on a part. On the step, or beside all parts, the card changes
    the whole scenario.
    """
    card = next((each for each in cards() if each.key == key), None)
    if card is None:
        return PartChange("", "This card is not from this shelf", None)
    if part is None or part.parent is None:
        if parameters := card.missing_parameters(scenario):
            words = f"{card.title} needs {' and '.join(parameters)}: press Enter on its card"
            return PartChange(card.title, words, None)
        try:
            return _applied(card.title, card.words(scenario), scenario, card.apply(scenario))
        except InputError as error:
            return PartChange(card.title, str(error), None)
    whatif = registered(card.name) if card.kind == "whatif" else None
    if whatif is None or _patterned(whatif) is None:
        return PartChange(
            card.title,
            f"{card.title} applies to the whole step, not to a module: drop it on the step",
            None,
        )
    return on_part(whatif, part, scenario, p)


def choices(part: ModuleNode, scenario: Scenario, p: Prediction) -> list[PartChange]:
    """All what-ifs on a part, one per value of a choice, including those that do not apply."""
    changes: list[PartChange] = []
    for whatif in whatifs():
        if _patterned(whatif) is None:
            continue
        first = whatif.parameters[0]
        values = first.choices if first.kind == "choice" else (None,)
        changes += [on_part(whatif, part, scenario, p, value) for value in values]
    return changes


def on_part(
    whatif: WhatIf, part: ModuleNode, scenario: Scenario, p: Prediction, value: str | None = None
) -> PartChange:
    """A what-if on a part with this value of its first choice, or with the default that its card
    states."""
    dtype = value or _first_dtype(whatif)
    name = display_name(whatif.name)
    title = f"{name} {dtype or ''}".strip()
    try:
        arguments = _arguments(whatif, part, dtype)
        if whatif.name == "precision" and dtype:
            _can_be(part, dtype, p)
        after = apply(scenario, whatif.name, arguments)
        new = set(resolve(after).edits) - set(resolve(scenario).edits)
        for edit in new:
            edit(p.trace)
    except InputError as error:
        return PartChange(title, str(error), None, name)
    words = to_full_text(after.whatifs[-1]) if after != scenario else title
    lacking = _unsupported(p, dtype) if whatif.name == "precision" and dtype else ""
    return _applied(title, words + lacking, scenario, after)


def _applied(title: str, words: str, before: Scenario, after: Scenario) -> PartChange:
    if after.key == before.key:
        return PartChange(title, f"{title} has no effect here", None)
    return PartChange(title, words, after)


def _patterned(whatif: WhatIf) -> Parameter | None:
    return next((each for each in whatif.parameters if each.pattern), None)


def _arguments(whatif: WhatIf, part: ModuleNode, dtype: str | None) -> Mapping[str, Any]:
    if part.wait:
        raise InputError(f"{part.name}: no kernel runs: expected a module with kernels; choose one")
    if part.path.startswith("("):
        raise InputError(
            f"{part.path} is not a module: expected a module of the network; choose one"
        )
    named = _patterned(whatif)
    assert named is not None
    arguments: dict[str, Any] = {named.name: pattern(part)}
    names = [each.name for each in whatif.parameters]
    if "op" in names:
        arguments["op"] = "*" if part.modules else part.name
    elif "ops" in names:
        arguments["ops"] = "*"
    elif not part.modules:
        raise InputError(
            f"{part.name} is one op: expected a module; choose {pattern(part)}, which contains it"
        )
    if dtype:
        arguments[whatif.parameters[0].name] = dtype
    return arguments


def _first_dtype(whatif: WhatIf) -> str | None:
    first = whatif.parameters[0]
    return str(first.default) if first.kind == "choice" else None


def _dtypes(part: ModuleNode, p: Prediction) -> set[str]:
    """The dtypes of a part's weights."""
    dtypes: set[str] = set()
    for op in part.ops:
        call = p.trace.ops[op]
        for tensor, storage in zip(call.inputs, call.storages, strict=False):
            if p.trace.storages[storage].role == "weight":
                dtypes.add(_SHORT.get(tensor.dtype, tensor.dtype))
    return dtypes


def _can_be(part: ModuleNode, dtype: str, p: Prediction) -> None:
    have = _dtypes(part, p)
    if not have:
        raise InputError(
            f"{part.name} has no weights: expected a module with weights; choose "
            "one that contains it"
        )
    if have == {dtype}:
        raise InputError(
            f"the weights of {part.name} are {dtype} already: choose another dtype in its menu"
        )


def _unsupported(p: Prediction, dtype: str) -> str:
    """A note if the GPU has no tensor cores for a dtype."""
    if dtype == "fp32" or p.gpu.peak("tensor", dtype) is not None:
        return ""
    return f": {p.gpu.name} has no {dtype} tensor cores, so its vector units compute it"

"""What-ifs on a row of the op table: on the modules whose ops it counts."""

from __future__ import annotations

from collections.abc import Callable

from app.answers.groups import owner
from app.scenes.launches import starred
from app.scenes.module_tree import ModuleNode
from app.scenes.op_table import OpGroups
from app.scenes.part_what_ifs import PartChange, choices, dropped, pattern
from simulator.prediction import Prediction
from simulator.records import Phase
from simulator.scenario.module_pattern import block
from simulator.scenario.scenario import Scenario

_MOST = 8
"""Largest number of modules to which a change of a row applies, one what-if per module."""


def parts_of(groups: OpGroups, group: int, p: Prediction) -> list[ModuleNode]:
    """The parts of the network that a row of the op table represents."""
    return parts_of_ops(groups.ops_of([group]), p, groups.by == "module")


def parts_of_ops(ops: frozenset[int], p: Prediction, of_modules: bool = False) -> list[ModuleNode]:
    """The parts of the network that contain `ops`, one per pattern of modules (`patterns`). A part
    is a whole module in two cases: `of_modules`, or `ops` contain every op of their passes that
    reads the module's weights. Otherwise a part is an op in the module."""
    owners: dict[str, list[int]] = {}
    for at in sorted(ops):
        call = p.trace.ops[at]
        owners.setdefault(owner(call.module, call.phase), []).append(at)
    step, parts = ModuleNode("step", "", 0), list[ModuleNode]()
    readers = _weighted(p, {p.trace.ops[at].phase for at in ops})
    for path, modules in patterns(set(owners), {module for _, module in readers}).items():
        own = {at for module in modules for at in owners[module]}
        below = {at for at, module in readers if _within(module, modules)}
        of = ModuleNode(path.rpartition(".")[2], path, 1, step, ops=below | own, modules=modules)
        if not of_modules and not (below and below <= ops):
            of.modules = set()
            call = p.trace.ops[min(own)]
            name = call.name.removeprefix("aten.").removesuffix(".default")
            of = ModuleNode(name, f"{path}.{name}", 2, of, ops=own)
        parts.append(of)
    return parts


def patterns(modules: set[str], all_modules: set[str]) -> dict[str, set[str]]:
    """Modules grouped by patterns that match no other module of `all_modules`: differing numbers
    become `#`, and a module without such a pattern is its own group."""
    by_pattern: dict[str, list[list[str]]] = {}
    for module in sorted(modules):
        by_pattern.setdefault(starred(module), []).append(module.split("."))
    modules_of: dict[str, set[str]] = {}
    for paths in by_pattern.values():
        columns = [set(column) for column in zip(*paths, strict=True)]
        pattern = ".".join("#" if len(c) > 1 else next(iter(c)) for c in columns)
        whole = {".".join(path) for path in paths}
        if any(block(pattern, other) == other and other not in whole for other in all_modules):
            modules_of |= {module: {module} for module in sorted(whole)}
        else:
            modules_of[pattern] = whole
    return modules_of


def _within(module: str, above: set[str]) -> bool:
    return any(f"{module}.".startswith(f"{path}.") for path in above)


def on_row(key: str, parts: list[ModuleNode], scenario: Scenario, p: Prediction) -> PartChange:
    """The effect of a card on a row; without a row, on the whole scenario."""
    if not parts:
        return dropped(key, None, scenario, p)
    return _one_by_one(parts, scenario, lambda part, now: dropped(key, part, now, p))


def row_choices(parts: list[ModuleNode], scenario: Scenario, p: Prediction) -> list[PartChange]:
    """All what-ifs on a row, including those that do not apply."""
    if len(parts) == 1:
        return choices(parts[0], scenario, p)
    first = choices(parts[0], scenario, p) if parts else []

    def of(title: str) -> Callable[[ModuleNode, Scenario], PartChange]:
        return lambda part, now: next(c for c in choices(part, now, p) if c.title == title)

    return [_one_by_one(parts, scenario, of(each.title), each.title, each.name) for each in first]


def _one_by_one(
    parts: list[ModuleNode],
    scenario: Scenario,
    change: Callable[[ModuleNode, Scenario], PartChange],
    title: str = "",
    name: str = "",
) -> PartChange:
    """Apply the change to each part; parts that refuse it stay unchanged."""
    if len(parts) > _MOST:
        words = (
            f"these ops are in {len(parts)} different modules: expected at most {_MOST}; "
            "group by module and choose one"
        )
        return PartChange(title, words, None, name)
    now, labels, refused = scenario, dict[str, str](), list[PartChange]()
    for part in parts:
        following = change(part, now)
        if following.scenario is None:
            refused.insert(len(refused) if part.path.startswith("(") else 0, following)
        else:
            now, title = following.scenario, following.title
            labels[pattern(part)] = following.words
    if not labels:
        return refused[0]
    joined = f"{title} of {len(labels)} modules: {', '.join(labels)}"
    return PartChange(title, joined if len(labels) > 1 else next(iter(labels.values())), now)


def _weighted(p: Prediction, phases: set[Phase]) -> list[tuple[int, str]]:
    """The ops of these passes that read weights in kernels, with their modules."""
    weights = {at for at, each in enumerate(p.trace.storages) if each.role == "weight"}
    candidates: list[tuple[int, str]] = []
    launching: list[int] = p.columns.op_of.tolist()
    for at in sorted(set(launching)):
        call = p.trace.ops[at]
        if call.phase in phases and weights.intersection(call.storages[: len(call.inputs)]):
            candidates.append((at, call.module))
    return candidates

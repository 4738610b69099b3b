"""Fused groups for `ridgepoint export-kernel`: the list of groups, and the file of a group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from app.answers.subject import Progress, Subject, heading_of, predict, subject
from app.quantities import cut, seconds
from app.report.tables import numbers, table
from simulator.errors import InputError
from simulator.fusion import Fused
from simulator.kernel_source import Candidate, KernelInfo, candidates, fused_group, kernel, source
from simulator.kernel_source.exportable import alone_s, compiled
from simulator.prediction import Prediction

if TYPE_CHECKING:
    from simulator.scenario.scenario import Scenario

IRREGULAR = ((3, 13), (2, 37))
"""Batch and sequence of additional test cases of a kernel; no block size divides them."""

_GUESSED = Text(
    "* The group reads parts of a tensor that differ only in their offset. A trace does not record "
    "which op reads which part, so kernel and reference may both swap them."
)


@dataclass(frozen=True)
class CompiledStep:
    """A compiled step whose groups can be exported."""

    scenario: Scenario
    subject: Subject
    prediction: Prediction


def step(scenario: Scenario, progress: Progress) -> CompiledStep:
    """Trace and predict a step. Raises InputError if it is not compiled."""
    traced = subject(scenario, progress)
    result = CompiledStep(scenario, traced, predict(scenario, traced, progress))
    compiled(result.prediction)
    return result


def text(step: CompiledStep, chosen: Candidate, progress: Progress) -> str:
    """The source file of one group."""
    p, number = step.prediction, chosen.group
    fused = compiled(p)
    written = kernel(fused_group(fused, number, _others(step, progress)))
    op = p.trace.ops[number]
    ops = chosen.name.replace("+", ", ")
    title = f"{ops} in one kernel: {heading_of(step.subject, step.scenario, ())}"
    took = p.columns.duration_s[p.columns.op_of == number]
    nbytes = op.signature.read_bytes + op.signature.write_bytes
    about = (
        f"{chosen.count} of these in the step, the first in {op.module or 'the network itself'}. "
        f"Traced with torch {p.trace.torch_version}."
    )
    eager = alone_s(p, fused.computed, list(fused.members(number)))
    alone = alone_s(p, p.trace, [number])
    info = KernelInfo(title, about, p.gpu.name, alone, eager, float(took.sum()), nbytes)
    return source(written, info)


def _others(step: CompiledStep, progress: Progress) -> Iterator[tuple[str, Fused]]:
    """Yield the same step at irregular sizes that the network accepts."""
    if step.scenario.trace_file is not None:
        return
    for batch, seq in IRREGULAR:
        sizes = {"batch": batch} if step.subject.seq is None else {"batch": batch, "seq": seq}
        progress(f"tracing {', '.join(f'{name} {size}' for name, size in sizes.items())}")
        irregular = replace(step.scenario, **sizes)
        try:
            p = predict(irregular, subject(irregular))
        except InputError:  # the network accepts only other sizes
            continue
        yield ", ".join(f"{name} {size}" for name, size in sizes.items()), compiled(p)


def show(console: Console, groups: list[Candidate], top: int) -> None:
    """Print the groups, exportable ones first."""
    width = min(console.width, 120)
    good = [group for group in groups if group.reason is None]
    rows = table("exportable groups")
    numbers(rows, "group")
    rows.add_column("ops", min_width=16)
    numbers(rows, "kernels", "time")
    for group in good[:top]:
        name = cut(group.name, 58) + (" *" if group.guessed else "")
        rows.add_row(str(group.number), name, f"{group.count:,}", seconds(group.seconds))
    console.print()
    console.print(rows if good else Text("No group can be exported."), width=width)
    if any(group.guessed for group in good[:top]):
        console.print(_GUESSED, width=width)
    left = [group for group in groups if group.reason is not None][:top]
    if left:
        others = table("not exported")
        numbers(others, "group")
        others.add_column("ops", min_width=16)
        numbers(others, "kernels", "time")
        others.add_column("why", min_width=24)
        for each in left:
            why = cut((each.reason or "").partition(": expected")[0], 90)
            others.add_row(
                str(each.number), cut(each.name, 28), f"{each.count:,}", seconds(each.seconds), why
            )
        console.print()
        console.print(others, width=width)


def listed(step: CompiledStep) -> list[Candidate]:
    """The candidate groups of a step."""
    return candidates(step.prediction)

"""Fused groups as files, for `ridgepoint export-kernel`: the list of groups, and a group's file."""

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
from simulator.kernel_source import Candidate, Told, candidates, fused_group, kernel, source
from simulator.kernel_source.exportable import alone_s, compiled
from simulator.prediction import Prediction

if TYPE_CHECKING:
    from simulator.scenario.scenario import Scenario

IRREGULAR = ((3, 13), (2, 37))
"""Batch and sequence of the cases that the kernel is checked on besides: no block divides them."""

_GUESSED = Text(
    "* It reads parts of a tensor that are alike but for where they begin. A trace does not say "
    "which op reads which, so kernel and reference may take one for another, both alike."
)


@dataclass(frozen=True)
class CompiledStep:
    """A compiled step, of which groups are exported."""

    scenario: Scenario
    subject: Subject
    prediction: Prediction


def step(scenario: Scenario, progress: Progress) -> CompiledStep:
    """Trace and predict. InputError for a step that is not compiled."""
    found = subject(scenario, progress)
    made = CompiledStep(scenario, found, predict(scenario, found, progress))
    compiled(made.prediction)
    return made


def text(of: CompiledStep, chosen: Candidate, progress: Progress) -> str:
    """The file of one group."""
    p, number = of.prediction, chosen.group
    fused = compiled(p)
    written = kernel(fused_group(fused, number, _others(of, progress)))
    op = p.trace.ops[number]
    ops = chosen.name.replace("+", ", ")
    title = f"{ops} in one kernel: {heading_of(of.subject, of.scenario, ())}"
    took = p.columns.duration_s[p.columns.op_of == number]
    read, made = op.signature.read_bytes, op.signature.write_bytes
    about = (
        f"{chosen.count} of these in the step, the first in {op.module or 'the network itself'}. "
        f"Traced with torch {p.trace.torch_version}."
    )
    eager = alone_s(p, fused.computed, list(fused.members(number)))
    alone = alone_s(p, p.trace, [number])
    told = Told(title, about, p.gpu.name, alone, eager, float(took.sum()), read + made)
    return source(written, told)


def _others(of: CompiledStep, progress: Progress) -> Iterator[tuple[str, Fused]]:
    """The same step at irregular sizes, as far as it can be traced at them."""
    if of.scenario.trace_file is not None:
        return
    for batch, seq in IRREGULAR:
        sizes = {"batch": batch} if of.subject.seq is None else {"batch": batch, "seq": seq}
        progress(f"tracing {', '.join(f'{name} {size}' for name, size in sizes.items())}")
        asked = replace(of.scenario, **sizes)
        try:
            made = predict(asked, subject(asked))
        except InputError:  # a network that knows other sizes alone
            continue
        yield ", ".join(f"{name} {size}" for name, size in sizes.items()), compiled(made)


def show(console: Console, found: list[Candidate], top: int) -> None:
    """Print the groups, those that can be exported first."""
    width = min(console.width, 120)
    good = [each for each in found if each.reason is None]
    rows = table("groups that can be exported")
    numbers(rows, "group")
    rows.add_column("ops", min_width=16)
    numbers(rows, "kernels", "time")
    for each in good[:top]:
        name = cut(each.name, 58) + (" *" if each.guessed else "")
        rows.add_row(str(each.number), name, f"{each.count:,}", seconds(each.seconds))
    console.print()
    console.print(rows if good else Text("No group can be exported."), width=width)
    if any(each.guessed for each in good[:top]):
        console.print(_GUESSED, width=width)
    left = [each for each in found if each.reason is not None][:top]
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


def listed(of: CompiledStep) -> list[Candidate]:
    """The groups of a step."""
    return candidates(of.prediction)

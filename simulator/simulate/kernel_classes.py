"""The classes of a family's kernels: kernels of one signature with equal reuse distances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.caches.derived import Derived
from simulator.lowering import Lowered as Kernels
from simulator.records import Trace
from simulator.schedule.launch_plan import LaunchPlan
from simulator.schedule.timeline import Floats, Ints
from simulator.symbols.family import Family
from simulator.symbols.instances import Lowered, Pattern
from simulator.symbols.reuse import Reuse, StepBytes, reuse
from simulator.varying.distinct import distinct_rows


@dataclass(frozen=True)
class KernelClasses:
    """The kernels of points that launch the same number of them. `class_of` is the class of each
    kernel, `count` the number of kernels of each class. A class is an op class of `reuse` and an
    index among the works of its launches."""

    plan: LaunchPlan
    reuse: Reuse
    class_of: Ints
    count: Floats
    op_class: Ints
    place: Ints

    def alike(self, hot: Floats) -> tuple[Ints, Ints]:
        """The classes that differ in time at some points, given the share of bytes in L2 of each
        [op classes, points]: the index of one class of each kind, and the kind of each class.
        Classes of the same launches differ only in these shares."""
        _, same = distinct_rows(np.column_stack([self.reuse.number, hot]))
        launches = same[self.op_class] * (self.place.max(initial=0) + 1) + self.place
        _, representatives, group = np.unique(launches, return_index=True, return_inverse=True)
        return representatives, group

    def within(self, step: StepBytes, l2_bytes: float) -> KernelClasses:
        """The same kernels for steps of these bytes or more, in fewer classes (`Reuse.within`)."""
        fewer, class_of = self.reuse.within(step, l2_bytes)
        codes = class_of[self.op_class] * (self.place.max(initial=0) + 1) + self.place
        _, first, group = np.unique(codes, return_index=True, return_inverse=True)
        return KernelClasses(
            self.plan,
            fewer,
            group[self.class_of],
            np.bincount(group, self.count).astype(float),
            class_of[self.op_class[first]],
            self.place[first],
        )


_CLASSES = Derived[KernelClasses](256)  # by launches, which differ by class of GPU and by point
_HOST_TRACE = Derived[Trace]()


def launch_patterns(points: int, lowered: Sequence[Lowered]) -> Iterator[Ints]:
    """Groups of points whose ops launch the same numbers of kernels and works, and call the same
    number of ops."""
    code = np.zeros(points, np.int64)
    for low in lowered:
        if len(low.patterns) > 1:
            _, code = np.unique(code * len(low.patterns) + low.pattern, return_inverse=True)
            code = code.ravel()
    for number in np.unique(code):
        yield np.flatnonzero(code == number)


def kernel_classes(
    family: Family, point: tuple[int, int], lowered: Sequence[Lowered], place: int
) -> KernelClasses:
    """The classes of the kernels of points with the same launches as the one at `place`. `point` is
    any point of the family."""
    patterns = [low.patterns[int(low.pattern[place])] for low in lowered]
    return _CLASSES.get(family, lambda: _classes(family, point, patterns), tuple(patterns))


def _classes(family: Family, point: tuple[int, int], patterns: list[Pattern]) -> KernelClasses:
    # The host's work is the same at all points.
    trace = _HOST_TRACE.get(family, lambda: family.at(*point))
    places = [pattern.places for pattern in patterns]
    count = np.array([len(p) for p in places], np.int64)
    inner_ops = np.array([pattern.inner_ops for pattern in patterns], np.int64)
    rows = np.array(family.rows, np.int64)
    reuse_of_ops = reuse(family, count[rows] > 0)
    begins: dict[int, int] = {}
    op_class: list[int] = []
    place: list[int] = []
    numbers: list[int] = reuse_of_ops.number.tolist()
    for each, number in enumerate(numbers):
        begins[each] = len(op_class)
        distinct = max(places[number], default=-1) + 1
        op_class += [each] * distinct
        place += range(distinct)
    launches = [
        begins[each] + np.array(places[number], np.int64) for each, number in enumerate(numbers)
    ]
    classes: list[int] = reuse_of_ops.op_class[count[rows] > 0].tolist()
    of_ops = [launches[c] for c in classes]
    class_of = np.concatenate(of_ops) if of_ops else np.zeros(0, np.int64)
    # The host launches kernels by op, so a kernel is represented by its op.
    op_of = np.repeat(np.arange(rows.size), count[rows])
    kernels = Kernels([], class_of, op_of, inner_ops[rows], [])
    return KernelClasses(
        LaunchPlan(trace, kernels),
        reuse_of_ops,
        class_of,
        np.bincount(class_of, minlength=len(op_class)).astype(float),
        np.array(op_class, np.int64),
        np.array(place, np.int64),
    )

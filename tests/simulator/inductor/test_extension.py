"""A schedule extended from two depths, against the schedule of that depth written in full."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from msgspec.structs import replace

from simulator.inductor.deep.extension import extend
from simulator.inductor.deep.periods import ENOUGH, ContinuedRow, Row, continued
from simulator.inductor.schedule import Buffer, Launch, Origin, Schedule
from simulator.records import Phase, Signature, Tensor

WIDE, SEEDS = 4096, "aten.randint.low_out"


class Writer:
    """Writes a schedule launch by launch; buffers and origins are numbered in order."""

    def __init__(self) -> None:
        self.launches: list[Launch] = []
        self.buffers: list[Buffer] = []
        self.origins: list[Origin] = []
        self.seeds_at = -1

    def buffer(self, nbytes: int = WIDE, role: str = "activation") -> int:
        self.buffers.append(Buffer(nbytes, role))  # pyright: ignore[reportArgumentType]
        return len(self.buffers) - 1

    def launch(
        self,
        name: str,
        module: str,
        reads: list[int],
        phase: Phase = "forward",
        again: tuple[int, ...] = (),
        writes: int | None = None,
    ) -> int:
        """Write a launch with one new origin in addition to the origins computed `again`; it reads
        one element of the tensor of seeds."""
        out = self.buffer() if writes is None else writes
        self.origins.append(Origin(f"aten.{name}.default", module, phase))
        self.launches.append(
            Launch(
                "pointwise",
                name,
                phase,
                (*again, len(self.origins) - 1),
                tuple(
                    (each, 8 if each == self.seeds_at else self.buffers[each].nbytes)
                    for each in reads
                ),
                ((out, self.buffers[out].nbytes),),
                flops=WIDE,
            )
        )
        return out

    def seeds(self, count: int) -> int:
        """A buffer without inputs whose size is its count."""
        out = self.seeds_at = self.buffer(8 * count)
        tensor = Tensor((count,), "int64", (1,))
        call = Signature(SEEDS, (), (tensor,), (), {"size": [count]})
        self.launches.append(
            Launch(
                "library", SEEDS, "forward", (), (), ((out, 8 * count),), call=call, operands=(out,)
            )
        )
        return out

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.launches, self.buffers, self.origins, "2.13", "3.9")


def network(depth: int) -> Schedule:
    """A step of training: an embedding, `depth` blocks of a product and a dropout, and a head. The
    backward pass reads the blocks' results from the last to the first."""
    w = Writer()
    tokens, table = w.buffer(64, "input"), w.buffer(999, "weight")
    weights = [w.buffer(77, "weight") for _ in range(depth)]
    seeds = w.seeds(depth)
    x = [w.launch("embed", "tokens", [tokens, table])]
    for block in range(depth):
        y = w.launch("mm", f"layers.{block}.up", [x[-1], weights[block]])
        x.append(w.launch("dropout", f"layers.{block}", [y, x[-1], seeds]))
    g = w.launch("head", "head", [x[-1], table])
    for block in reversed(range(depth)):
        forward = w.launches[2 + 2 * block].origins[0]
        g = w.launch("mm_backward", f"layers.{block}.up", [g, x[block]], "backward", (forward,))
        w.launch("sum", f"layers.{block}.up", [g, weights[block]], "backward")
    w.launch("embed_backward", "tokens", [g, tokens], "backward")
    return w.schedule


def alternating(depth: int) -> Schedule:
    """Every second block stores its result, which is read until the next such block."""
    w = Writer()
    live = [w.buffer(64, "input")]
    for block in range(depth):
        live.append(w.launch("keep" if block % 2 else "add", f"h.{block}", live))
        if block % 2:
            live = live[-1:]
    w.launch("head", "", live)
    return w.schedule


def gathering(depth: int) -> Schedule:
    """A last launch that reads the results of all blocks."""
    w = Writer()
    x = [w.buffer(64, "input")]
    for block in range(depth):
        x.append(w.launch("mm", f"h.{block}", x[-1:]))
    w.launch("cat", "", x)
    return w.schedule


def lists(depth: int, wrong: int = -1) -> list[Row]:
    """One row before and one after `depth` periods of two rows; in period `wrong`, a count is too
    large by one."""
    inner = [
        row
        for p in range(depth)
        for row in (Row("a", (p, 7)), Row("b", (10 * depth - p + (p == wrong),)))
    ]
    return [Row("first", (depth,)), *inner, Row("last", (3 * depth,))]


@pytest.mark.parametrize("depth", [5, 6, 9, 32])
def test_a_step_is_that_of_its_depth(depth: int) -> None:
    extended = extend(network(3), network(4), depth - 4)
    assert extended is not None and extended == network(depth)
    # 8 bytes of seeds per block; 2 launches forward and 2 backward per block, and 4 others
    assert extended.buffers[2 + depth].nbytes == 8 * depth
    assert len(extended.launches) == 4 + 4 * depth
    assert extended.origins[-2].module == "layers.0.up"


def test_two_blocks_can_be_one_period() -> None:
    assert extend(alternating(6), alternating(8), 12) == alternating(32)
    assert extend(alternating(7), alternating(9), 12) == alternating(33)
    # odd and even numbers of blocks differ
    assert extend(alternating(6), alternating(7), 25) is None


def test_too_shallow_to_see_a_period_twice() -> None:
    assert ENOUGH == 2
    assert extend(alternating(2), alternating(4), 1) is None


def test_a_launch_that_reads_all_blocks_is_not_a_period() -> None:
    assert extend(gathering(8), gathering(9), 1) is None


Change = Callable[[Schedule], Schedule]


def _launch(place: int, **changes: object) -> Change:
    def changed(schedule: Schedule) -> Schedule:
        launches = list(schedule.launches)
        launches[place] = replace(launches[place], **changes)
        return replace(schedule, launches=launches)

    return changed


def _role(number: int) -> Change:
    def changed(schedule: Schedule) -> Schedule:
        buffers = list(schedule.buffers)
        buffers[number] = Buffer(buffers[number].nbytes, "input")
        return replace(schedule, buffers=buffers)

    return changed


@pytest.mark.parametrize("change", [
    _launch(4, flops=5), _launch(4, name="other"), _launch(0, operands=()), _role(9),
    _launch(4, reads=((1, 999), (3, 77))),
])  # fmt: skip
def test_a_block_that_is_otherwise_is_not_extended(change: Change) -> None:
    assert extend(network(4), change(network(5)), 3) is None
    assert extend(change(network(4)), network(5), 3) is None


def test_rows_are_extended_by_their_period() -> None:
    rows = continued(lists(2), lists(3), 2)
    assert rows is not None
    assert rows[:3] == [ContinuedRow(0, (5,)), ContinuedRow(1, (0, 7)), ContinuedRow(2, (50,))]
    assert [counts for _, counts in rows] == [row.counts for row in lists(5)]
    assert [lists(3)[like].label for like, _ in rows] == [row.label for row in lists(5)]
    assert continued(lists(2), lists(2), 9) == [
        ContinuedRow(i, r.counts) for i, r in enumerate(lists(2))
    ]


def test_counts_that_leave_the_line() -> None:
    assert continued(lists(1), lists(2), 1) is None  # a single period cannot be checked
    assert continued(lists(2), lists(3, wrong=1), 1) is None
    assert continued(lists(3), lists(2), 1) is None
    # a first period that differs stays unchanged if two later periods grow linearly
    rows = continued(lists(3, wrong=0), lists(4, wrong=0), 2)
    assert rows is not None
    assert [counts for _, counts in rows] == [row.counts for row in lists(6, wrong=0)]


def twice(depth: int) -> list[Row]:
    """`depth` rows, then the same number of periods of two rows; one row before, between and
    after."""
    one = [Row("a", (p,)) for p in range(depth)]
    other = [row for p in range(depth) for row in (Row("b", (depth + p,)), Row("c", (7 - p,)))]
    return [Row("first", ()), *one, Row("middle", (depth,)), *other, Row("last", (3 * depth,))]


def test_a_list_grows_in_two_places() -> None:
    rows = continued(twice(3), twice(4), 6)
    assert rows is not None
    assert [counts for _, counts in rows] == [row.counts for row in twice(10)]
    assert [twice(4)[like].label for like, _ in rows] == [row.label for row in twice(10)]
    unequal = [*twice(4)[:-1], Row("last", (12, 1))]
    assert continued(twice(3), unequal, 6) is None
    # a single period in each place cannot be checked
    assert continued(twice(1), twice(2), 6) is None


def test_depths_grow_by_as_many_launches() -> None:
    extended = [extend(network(4), network(5), times) for times in range(5)]
    counts = [len(each.launches) for each in extended if each is not None]
    assert [b - a for a, b in pairwise(counts)] == [4, 4, 4, 4]

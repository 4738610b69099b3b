"""The blocks that are left out, and the forked processes that schedule the others."""

from __future__ import annotations

import subprocess
import sys

import pytest
from torch import nn

from simulator.inductor.deep.deepening import depths, schedule_by_extension, shorten
from simulator.inductor.deep.stack import Stack, stack
from simulator.inductor.refusal import RefusalError
from simulator.records import Op, Signature, Storage, Tensor, Trace

ROWS = Tensor((4, 8), "float32", (8, 1))
SAME = Signature("aten.mm.default", (ROWS,), (ROWS,), ("self",), {})
OTHER = Signature("aten.mul.default", (ROWS,), (ROWS,), ("self",), {})


def trace(blocks: list[Signature], masks: tuple[int, ...] = (0,), path: str = "layers") -> Trace:
    """One product per block, which reads the result of the previous block and one of the masks."""
    first = len(masks)
    ops = [
        Op(signature, f"{path}.{i}.up", "forward", (first + i, first + i + 1, masks[i % first]))
        for i, signature in enumerate(blocks)
    ]
    storages = [Storage(128, -1, None, "input") for _ in range(first + len(blocks) + 1)]
    ops = [Op(OTHER, "tokens", "forward", (0, first)), *ops]
    return Trace(ops, storages, "inference", None, 4, None, 0, 0, [], "2.13", "h200_sxm")


def test_equal_blocks_are_a_stack() -> None:
    assert stack(trace([SAME] * 12)) == Stack("layers", 12)
    assert stack(trace([SAME] * 12, path="encoder.h")) == Stack("encoder.h", 12)
    # the first and the last layer differ
    assert stack(trace([OTHER, *[SAME] * 10, OTHER])) == Stack("layers", 12)


def test_different_blocks_are_not_equal_blocks() -> None:
    assert stack(trace([SAME, SAME, SAME, OTHER, SAME, SAME])) is None
    assert stack(trace([SAME, OTHER] * 6)) is None
    assert stack(trace([SAME] * 12, masks=(0, 1))) is None  # one of the ops has another mask
    assert stack(trace([])) is None


def test_a_number_in_a_path_is_a_block_where_all_are_there() -> None:
    step = trace([SAME] * 3, path="net")
    ops = [each for each in step.ops if each.module != "net.1.up"]
    assert stack(Trace(ops, step.storages, "inference", None, 4, None, 0, 0, [], "", "")) is None


@pytest.mark.parametrize(("blocks", "training", "pairs"), [
    (8, True, []), (9, True, [(4, 5), (5, 6)]), (11, True, [(4, 5), (5, 6)]),
    (12, True, [(4, 5), (5, 6), (6, 8)]),
    (32, True, [(4, 5), (5, 6), (6, 8)]), (33, True, [(4, 5), (5, 6), (7, 9)]),
    (12, False, []), (24, False, [(6, 8)]), (32, False, [(6, 8), (12, 16)]),
    (31, False, [(7, 9), (11, 15)]),
])  # fmt: skip
def test_depths(blocks: int, training: bool, pairs: list[tuple[int, int]]) -> None:
    assert list(depths(blocks, training)) == pairs
    for short, deep in pairs:
        assert (blocks - deep) % (deep - short) == 0 and deep < blocks


def test_blocks_in_the_middle_are_left_out() -> None:
    net = nn.Module()
    net.h = nn.ModuleList(nn.Linear(1, i + 1) for i in range(6))
    net.s = nn.Sequential(*(nn.Linear(1, i + 1) for i in range(6)))
    for path in ("h", "s"):
        shorten(net, path, 4)
        names = [name for name, _ in net.get_submodule(path).named_children()]
        widths = [each.out_features for each in net.get_submodule(path)]  # pyright: ignore
        assert names == ["0", "1", "2", "3"] and widths == [1, 2, 3, 6]


def test_blocks_that_are_not_a_list() -> None:
    net = nn.Module()
    net.h = nn.ModuleDict({"0": nn.Identity(), "1": nn.Identity()})
    with pytest.raises(
        RefusalError, match="h is a ModuleDict: expected a ModuleList or Sequential"
    ):
        shorten(net, "h", 1)


def test_few_blocks_are_scheduled_as_they_are() -> None:
    def never(*_: object) -> object:
        raise AssertionError

    assert schedule_by_extension(never, "h", 6, False, lambda _: None) is None  # pyright: ignore


COPY = """
import os, sys, time
from simulator.inductor.forked import Forked
from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Schedule

def whole(): return Schedule([], [], [], "2.13", "3.9", notes=("of a copy",))
def refused(): raise RefusalError("it breaks at line 3")
def ended(): os._exit(7)
def slow(): time.sleep(60)
Forked(slow).end()
for make in (whole, refused, ended):
    try: print(Forked(make).result().notes)
    except RefusalError as refusal: print(refusal)
"""


def test_a_copy_of_the_process() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", COPY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdin is not None
        lines = child.stdout.read().splitlines()
    assert lines == ["('of a copy',)", "it breaks at line 3", "a copy of the process ended"]


def test_a_copy_ends_with_the_input_of_the_process() -> None:
    code = (
        "import time, sys; from simulator.inductor.forked import Forked\n"
        "def slow(): time.sleep(60)\n"
        "f = Forked(slow); print('begun', flush=True)\n"
        "try: f.result()\n"
        "except Exception as e: print(e)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdin is not None
        assert child.stdout.readline() == "begun\n"
        child.stdin.close()
        assert child.stdout.read() == "a copy of the process ended\n"

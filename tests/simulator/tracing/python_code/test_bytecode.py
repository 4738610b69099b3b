"""Instructions counted between calls, against Python's own trace of every opcode."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from simulator.tracing import trace
from simulator.tracing.python_code.bytecode import _ATTRIBUTES, _UNCOUNTED, Bytecode


def counted(call: Callable[[], object]) -> tuple[int, int]:
    """Instructions and attribute look-ups, counted as in a step."""
    counter = Bytecode()

    def on_event(frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            counter.advance(frame)
        elif event == "return":
            counter.leave(frame)
        elif event == "call":
            counter.advance(frame.f_back)  # pyright: ignore[reportArgumentType]
            counter.enter(frame)

    sys.setprofile(on_event)
    try:
        call()
    finally:
        sys.setprofile(None)
    return counter.instructions, counter.attributes


def run(call: Callable[[], object]) -> tuple[int, int]:
    """The same counts from Python's trace of each opcode."""
    names: list[str] = []
    opcodes: dict[object, dict[int, str]] = {}

    def on_opcode(frame: FrameType, event: str, arg: Any) -> Any:
        frame.f_trace_opcodes = True
        if event == "opcode":
            code = frame.f_code
            by_offset = opcodes.setdefault(
                code, {each.offset: each.opname for each in dis.get_instructions(code)}
            )
            names.append(by_offset[frame.f_lasti])
        return on_opcode

    before = sys.gettrace()
    sys.settrace(on_opcode)
    try:
        call()
    finally:
        sys.settrace(before)
    return (
        sum(name not in _UNCOUNTED for name in names),
        sum(name in _ATTRIBUTES for name in names),
    )


class Held:
    def __init__(self) -> None:
        self.value = 3


def straight() -> int:
    held = Held()
    return held.value + len("abc")


def looping() -> int:
    total = 0
    for each in range(7):
        total += abs(each)
    return total


def branching() -> list[int]:
    ordered: list[int] = []
    for each in range(6):
        if each % 2:
            ordered.append(abs(each))
        else:
            ordered.insert(0, each)
    return ordered


def generating() -> int:
    def numbers() -> Generator[int]:
        for each in range(4):
            yield abs(each)

    return sum(numbers())


def nested() -> int:
    return sum([straight(), looping(), len(branching())])


@pytest.mark.parametrize("call", [straight, looping, branching, generating, nested])
def test_the_count_equals_pythons_own_trace(call: Callable[[], object]) -> None:
    assert counted(call) == run(call)


def test_a_frame_that_was_not_entered_counts_for_nothing() -> None:
    counter = Bytecode()
    assert counter.advance(sys._getframe()) is False
    counter.leave(sys._getframe())
    assert (counter.instructions, counter.attributes) == (0, 0)


class Calls(nn.Module):
    """Loops over a function in C between two ops."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def forward(self, x: Tensor) -> Tensor:
        y = x + 1
        for _ in range(self.times):
            len("abc")
        return y * 2


def test_work_between_two_ops_belongs_to_the_second() -> None:
    x = torch.ones(2)
    (add10, mul10), (add30, mul30) = (trace(Calls(n), (x,)).ops for n in (10, 30))
    assert add10 == add30
    assert mul30.c_calls - mul10.c_calls == 20
    assert (mul30.instructions - mul10.instructions) % 20 == 0
    # FOR_ITER, STORE_FAST, LOAD_GLOBAL, LOAD_CONST, CALL, POP_TOP, JUMP_BACKWARD
    assert (mul30.instructions - mul10.instructions) // 20 == 7


def test_a_function_that_torch_overrides_is_counted_once() -> None:
    """torch.nn.functional.softmax first checks whether an argument overrides it, and is then called
    again: only the second call counts."""

    class Softmax(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.nn.functional.softmax(x, dim=-1)

    (op,) = trace(Softmax(), (torch.ones(4, 4),)).ops
    # has_torch_function_unary in the first and the second call; softmax 8 of forward, 3 + 11, 3 +
    # 9; the flags that report the mode are not counted
    assert op.c_calls == 3
    assert op.instructions == 34


class Far(nn.Module):
    """Calls one function, `between` others, and the first one again, before an op."""

    def __init__(self, between: int) -> None:
        super().__init__()
        self.between = between

    def forward(self, x: Tensor) -> Tensor:
        one()
        for _ in range(self.between):
            other()
        one()
        return x + 1


def one() -> int:
    return 1


def other() -> int:
    return 2


def test_a_function_called_long_before_is_cold() -> None:
    x = torch.ones(2)
    # two calls that are `between + 1` calls apart; the function is cold after 32. Its instructions
    # are LOAD_CONST and RETURN_VALUE, or one that combines both
    warm, cold = (trace(Far(n), (x,)).ops[0] for n in (30, 31))
    assert (warm.cold_instructions, cold.cold_instructions in (1, 2)) == (0, True)

"""Arithmetic on numbers at many points equals plain arithmetic at each point."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulator.varying import Varying, at_each, walked


def everywhere(ask: Callable[..., Any], columns: list[list[int]]) -> list[Any]:
    """The result of `walked` at each point, as plain numbers."""
    values: dict[int, Any] = {}
    for answer, points in walked(lambda numbers: ask(*numbers), np.array(columns, np.int64)):
        for place, point in enumerate(points.tolist()):
            values[point] = (
                answer.values[place].item()
                if type(answer) is Varying and answer.values.dtype != object
                else answer.values[place]
                if type(answer) is Varying
                else answer
            )
    return [values[point] for point in range(len(columns[0]))]


OPERATIONS = (
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv,
    operator.and_, operator.or_, min, max, lambda a, b: sum(divmod(a, b)),
    lambda a, b: math.ceil(a / b) + math.floor(b / a) + round(a / b),
    lambda a, b: (a * b).bit_length() + (1 << a % 9) + (b >> 3),
    lambda a, b: -(-a // b) * 1.5 if a > b else abs(a - b),
    lambda a, b: {a: 1}.get(b, 2) + len(range(a % 3)) + int(f"{b % 2}"),
    lambda a, b: a**2 * b**3 // 7,
)  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("largest", [9, 10**5, 2**40])
def test_every_operation_is_pythons_at_each_point(operation: Any, largest: int) -> None:
    draw = random.Random(largest)
    a, b = ([draw.randint(1, largest) for _ in range(60)] for _ in range(2))
    expected = [operation(x, y) for x, y in zip(a, b, strict=True)]
    assert everywhere(operation, [a, b]) == expected
    assert everywhere(lambda x: operation(x, 3), [a]) == [operation(x, 3) for x in a]


def test_code_is_run_once_for_each_path() -> None:
    runs: list[int] = []

    def ask(n: int) -> int:
        runs.append(1)
        if n < 10:
            return 2 * n
        return n + 1 if n % 2 else n

    values = list(range(1000))
    expected = [2 * n if n < 10 else n + n % 2 for n in values]
    assert everywhere(ask, [values]) == expected
    assert len(runs) == 3


def test_numbers_larger_than_64_bits_stay_exact() -> None:
    values = [3 * 2**k + 1 for k in range(60)]
    assert everywhere(lambda n: n * n * n // (n + 1), [values]) == [
        n * n * n // (n + 1) for n in values
    ]


def test_a_division_by_zero_is_refused_on_the_path_alone() -> None:
    values = list(range(20))
    values_at = everywhere(lambda n: 100 // n if n else -1, [values])
    assert values_at == [100 // n if n else -1 for n in values]
    with pytest.raises(ZeroDivisionError):
        everywhere(lambda n: 100 // n, [values])


def test_a_function_of_plain_numbers_is_called_for_each_distinct_choice() -> None:
    emitted: list[int] = []

    @at_each
    def digits(n: int) -> tuple[int, int]:
        emitted.append(n)
        return len(str(n)), 7

    def ask(n: int) -> int:
        count, seven = digits(n % 200)
        return count * seven

    values = list(range(1000))
    assert everywhere(ask, [values]) == [7 * len(str(n % 200)) for n in values]
    assert sorted(emitted) == list(range(200))

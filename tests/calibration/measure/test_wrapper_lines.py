"""Clocks in the wrappers that Inductor generates."""

from __future__ import annotations

from calibration.measure import wrapper_lines
from calibration.measure.wrapper_lines import instrumented

SOURCE = '''"""A wrapper."""
from contextlib import nullcontext

def call(args):
    x, = args
    args.clear()
    with nullcontext():
        y = x + 1
        del x
    return (y,)

def helper(x):
    return x
'''


def test_a_clock_is_read_after_each_statement_of_a_wrapper() -> None:
    namespace: dict[str, object] = {}
    wrapper_lines.readings.clear()
    exec(instrumented(SOURCE), namespace)
    call = namespace["call"]
    assert callable(call)
    assert call([2]) == (3,)
    texts = [text for text, _ in wrapper_lines.readings]
    assert texts == [
        "def call",
        "x, = args",
        "args.clear()",
        "y = x + 1",
        "del x",
        "with nullcontext():",
        "before return",
    ]
    times = [nanoseconds for _, nanoseconds in wrapper_lines.readings]
    assert times == sorted(times)


def test_other_sources_stay_as_they_are() -> None:
    assert instrumented("def kernel(x):\n    return x\n") == "def kernel(x):\n    return x\n"

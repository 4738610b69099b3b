"""Options of the form name=value, and the stated costs of ops of other libraries."""

from __future__ import annotations

from collections.abc import Callable

from app.printable import short
from simulator.costs.registry import STATED
from simulator.errors import InputError

_EXAMPLE = "mylib::f=flops:2e9,bytes:8e6"
_MOST = 2**60


def pairs(
    option: str,
    example: str,
    options: list[str],
    well_named: Callable[[str], bool] = str.isidentifier,
) -> list[tuple[str, str]]:
    """Split options into names and values. Raises InputError if the form is wrong or a name is
    given twice.
    """
    values: dict[str, str] = {}
    for text in options:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (well_named(name) and equals and value):
            raise InputError(f"{option} {short(text)!r}: expected name=value, such as {example}")
        if name in values:
            raise InputError(f"{option} {name} is given twice: expected it once; remove one")
        values[name] = value
    return list(values.items())


def stated_costs(options: list[str]) -> dict[str, int]:
    """Parse `--op mylib::f=flops:N,bytes:N` to data sizes: {"mylib::f.flops": N, …}."""
    costs: dict[str, int] = {}
    for op, text in pairs("--op", _EXAMPLE, options, _is_op):
        for part in text.split(","):
            figure, _, value = (word.strip() for word in part.partition(":"))
            number = _count(value)
            if figure not in STATED or number is None:
                raise InputError(
                    f"--op {op}={short(text)}: {short(part.strip())!r} is not a figure: "
                    f"expected flops:N, tensor_flops:N or bytes:N of one call, such as {_EXAMPLE}"
                )
            costs[f"{op}.{figure}"] = number
    return costs


def _count(text: str) -> int | None:
    """The number of a text such as 2000 or 2e9; None if it is not a number or out of range."""
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if 0 <= value <= _MOST else None


def _is_op(name: str) -> bool:
    """Whether a text is the name of an op of another library: mylib::f."""
    library, _, op = name.partition("::")
    return library.isidentifier() and op.isidentifier()


def is_stated(key: str) -> bool:
    """Whether a text names a stated figure of an op: mylib::f.flops."""
    op, _, figure = key.rpartition(".")
    return _is_op(op) and figure in STATED

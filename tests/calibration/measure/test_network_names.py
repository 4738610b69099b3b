"""The names of measured networks."""

from __future__ import annotations

from functools import partial
from typing import Any

from calibration.cases.case import TABLES


def _construction(make: Any) -> Any:
    """What `make` calls and with what; partial objects with equal parts differ."""
    return (make.func, make.args, make.keywords) if isinstance(make, partial) else make


def test_a_name_of_two_sources_means_the_same_network() -> None:
    known: dict[str, Any] = {}
    for table in TABLES:
        for name, make in table.items():
            assert _construction(known.setdefault(name, make)) == _construction(make), name

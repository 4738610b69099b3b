"""Small networks as scenarios: they trace in a tenth of a second."""

from __future__ import annotations

from typing import Any

from simulator.scenario.scenario import Scenario
from tests.simulator.conftest import SMALL

__all__ = ["small_scenario"]


def small_scenario(name: str = "bert-base", **more: Any) -> Scenario:
    """A scenario on a small network of the catalogue."""
    sizes = {k: v for k, v in SMALL[name].items() if k != "mask"} | more.pop("sizes", {})
    return Scenario(name, **{"batch": 4, "sizes": sizes} | more)

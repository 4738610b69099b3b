"""Stamps of the hardware files that a scenario reads, for caches of its figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from simulator.formats.present import Stamp, files, stamp
from simulator.hardware.gpu import users
from simulator.scenario.scenario import Scenario


def file_stamps(scenario: Scenario) -> tuple[Stamp | None, ...]:
    """Stamps of the GPU, cluster and host files that a scenario names, and of the user's GPUs. They
    change when one of these files is edited, whereas the scenario's key does not."""
    named = [Path(text) for text in _texts(scenario) if text.lower().endswith((".toml", ".json"))]
    return tuple(stamp(path) for path in [*named, *files(users(), "*.toml")])


def _texts(scenario: Scenario) -> Iterator[str]:
    values = [v for applied in scenario.whatifs for v in applied.arguments.values()]
    yield from (v for v in (scenario.gpu, scenario.host, *values) if isinstance(v, str))

"""Share one object among equal parts of a sweep's resolved scenarios."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from simulator.scenario.resolved import ResolvedScenario

_PARTS = ("request", "gpu", "host", "edits")


class SharedParts:
    """The parts of resolved scenarios after each value of an axis.

    Scenarios whose GPU, host, request and edits are the same objects are predicted together, which
    is many times faster than predicting them one by one. A what-if creates a new object for every
    scenario; equal objects that were made from the same object are merged into one.
    """

    def __init__(self) -> None:
        self._after: dict[tuple[str, int, int], tuple[Any, Any]] = {}

    def of(self, place: int, before: ResolvedScenario, after: ResolvedScenario) -> ResolvedScenario:
        """The scenario `after` (`before` at the value with index `place`), with the objects of an
        earlier scenario in place of equal ones."""
        changes: dict[str, Any] = {}
        for name in _PARTS:
            own, part = getattr(before, name), getattr(after, name)
            if part is own:
                continue
            # `own` is stored too, so that no other object takes over its identity
            _, earlier = self._after.setdefault((name, id(own), place), (own, part))
            if earlier is not part and earlier == part:
                changes[name] = earlier
        return replace(after, **changes) if changes else after

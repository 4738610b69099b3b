"""The values that a trace assumes where a step reads those of tensors without data."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from simulator.errors import InputError
from simulator.tracing.masks import Masks
from simulator.tracing.python_code.user_code import place_of

_MOST_READS = 10_000
_SHOWN = 3  # number of latest assumptions that an error shows


@dataclass
class DataSizes:
    """The known data-dependent values: the user's `sizes` by op ("item", or "item@nets.py:31" for
    the ops of one line), and the shares of `masks`. `false_at` holds the names and places of
    conditions that are assumed to be false, since the network fails if they are true. `assumed` are
    the values for other ops, by name and place."""

    sizes: Mapping[str, int]
    masks: Masks
    false_at: Set[str] = frozenset()
    assumed: dict[str, str] = field(default_factory=dict[str, str])
    latest_truth: str | None = None
    """The place where a condition was last assumed to be true."""
    reads: Counter[str] = field(default_factory=Counter[str])
    """How often a condition was read, by place."""

    def user_value(self, name: str) -> tuple[int, str] | None:
        """The user's value for the op that runs, and a text of its source; None without one."""
        place = place_of(sys._getframe(1))
        for key, how in ((f"{name}@{place}", f"as given for {place}"), (name, "as given")):
            if key in self.sizes:
                return self.sizes[key], how
        return None

    def condition(self) -> tuple[bool, str]:
        """The value of a boolean tensor that the network reads, and the assumption. Raises
        InputError for a loop that does not end with this value."""
        place = f"item@{place_of(sys._getframe(1))}"
        value = place not in self.false_at
        if value:
            self.latest_truth = place
        self.reads[place] += 1
        if self.reads[place] > _MOST_READS:
            raise InputError(
                f"the condition {place} was read {_MOST_READS:,} times in one step, always as "
                f"{value}: expected a loop that ends"
            )
        why = "" if value else ", because the network fails or does not end if it is True"
        return value, self.assume("item", f"the value {value}{why}")

    def assume(self, name: str, taken: str) -> str:
        """Record and return the assumption `taken` for the op that runs."""
        self.assumed[f"{name}@{place_of(sys._getframe(1))}"] = taken
        return taken

    def remedy(self) -> str:
        """The end of an error's text, with a way to replace assumed values; "" without any."""
        if not self.assumed:
            return ""
        shown = [f"{key} as {taken}" for key, taken in [*self.assumed.items()][-_SHOWN:]]
        key = next(reversed(self.assumed))
        return (
            f", so this was assumed: {'; '.join(shown)}. If this contradicts the network, give "
            f"another value: --data-size {key}=N, or sizes={{{key!r}: N}} in Python"
        )

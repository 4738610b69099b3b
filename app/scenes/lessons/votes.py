"""The answers of a class to a lesson's question, and their histogram. No widget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

Key = int | str
"""The key of a guess: a value of the axis, a side's letter, or "shift"."""
BINS = 12


@dataclass
class ClassVotes:
    """The guesses by key, and the choice of each pupil."""

    answers: list[tuple[Mapping[Key, float], str]] = field(
        default_factory=list[tuple[Mapping[Key, float], str]]
    )

    def add(self, guesses: Mapping[Key, float], choice: str) -> None:
        """Count one more answer."""
        self.answers.append((dict(guesses), choice))

    def remove_last(self) -> None:
        """Remove the last answer."""
        del self.answers[-1:]

    @property
    def choices(self) -> Counter[str]:
        """The number of pupils who chose each answer."""
        return Counter(choice for _, choice in self.answers if choice)

    def histogram(
        self, key: Key, low: float, high: float, log: bool
    ) -> list[tuple[float, float, int]]:
        """Low end, high end and count of each bin with guesses, between `low` and `high`."""
        guesses = [guess[key] for guess, _ in self.answers if key in guess]
        if not guesses or not low < high:
            return []
        low = max(low, high * 1e-12) if log else low
        edges = np.geomspace(low, high, BINS + 1) if log else np.linspace(low, high, BINS + 1)
        counts, _ = np.histogram(np.clip(guesses, low, high), edges)
        bins = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
        return [each for each in bins if each[2]]

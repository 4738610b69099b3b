"""Points at which all conditions so far had the same result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Truths = NDArray[np.bool_]
SCALAR: type[Any] = np.generic


class Path:
    """One run of code for `count` points. `on` masks the points that are still on the path; `left`
    has one mask per condition at which points left it."""

    def __init__(self, count: int) -> None:
        self.on: Truths = np.ones(count, np.bool_)
        self.left: list[Truths] = []
        self._size = count
        self._first = 0
        self._whole = True
        self._ended = False

    def truth(self, truths: Truths) -> bool:
        """The result of a condition [points] at the first point; points with another result leave
        the path."""
        if self._ended:
            raise RuntimeError("a varying number was compared after its path had ended")
        count = int(np.count_nonzero(truths if self._whole else truths & self.on))
        if count == self._size:
            return True
        if not count:
            return False
        answer = bool(truths[self._first])
        self._keep(truths if answer else ~truths, count if answer else self._size - count)
        return answer

    def one(self, values: NDArray[Any]) -> Any:
        """Value at the first point as a plain number; points with another value leave the path."""
        if self._ended:
            raise RuntimeError("a varying number was used as a plain one after its path had ended")
        value = values[self._first]
        same = np.asarray(values == value, np.bool_)
        count = int(np.count_nonzero(same if self._whole else same & self.on))
        if count < self._size:
            self._keep(same, count)
        return value.item() if isinstance(value, SCALAR) else value

    def any(self, truths: Truths) -> bool:
        """Whether a condition holds at any point of the path."""
        return bool((truths & self.on).any())

    def end(self) -> None:
        """Forbid further conditions."""
        self._ended = True

    def _keep(self, agreeing: Truths, count: int) -> None:
        self.left.append(self.on & ~agreeing)
        self.on = self.on & agreeing
        self._size, self._whole = count, False
        self._first = int(self.on.argmax())

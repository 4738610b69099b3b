"""The distribution of rows over groups if each row chooses its group at random.

A mixture of experts sends rows to experts depending on data that a trace does not have. Each of
`rows` rows is assumed to choose one of `groups` groups with equal probability, so that a group's
rows have a binomial distribution.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from simulator.varying import in_arrays

_FULL = 16
"""If a group of mean size has at least this number of tiles, its last tile is assumed to be half
full."""
_LOGISTIC = 1.702
"""1 / (1 + exp(−1.702 z)) is within 0.01 of the normal distribution function (Camilli 1994, "Origin
of the Scaling Constant d = 1.7")."""


@in_arrays
def groups_with_rows(rows: Any, groups: Any) -> Any:
    """The expected number of groups with at least one row."""
    groups = np.asarray(groups, np.float64)
    return groups * -np.expm1(rows * np.log1p(-1 / np.maximum(groups, 1 + 1e-9)))


@in_arrays
def row_tiles(rows: Any, groups: Any, height: int) -> Any:
    """The expected number of tiles of `height` rows that cover all groups, where a tile has rows of
    one group only. It is the number of groups with a row plus, for each further tile, the number of
    groups with more rows than the tiles before it hold."""
    mean = np.asarray(rows, np.float64) / groups
    deviation = np.sqrt(np.maximum(mean * (1 - 1 / np.asarray(groups, np.float64)), 1e-9))
    further = np.zeros_like(mean)
    for tile in range(1, 2 * _FULL):
        z = np.maximum((mean - 0.5 - tile * height) / deviation, -30)
        further = further + 1 / (1 + np.exp(-_LOGISTIC * z))
    few = groups_with_rows(rows, groups) + groups * further
    return cast(
        "NDArray[np.float64]",
        np.where(mean > _FULL * height, groups * (mean / height + 0.5), few),
    )

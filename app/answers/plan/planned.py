"""A plan as the page shows it: the draft, the candidates found so far, and what is chosen."""

from __future__ import annotations

from dataclasses import dataclass

from app.answers.plan.draft import Draft
from simulator.planning import Plan, Row
from simulator.planning.row_scenario import is_cluster_step
from simulator.planning.spec import Spec

Candidate = tuple[str, int, str, str, int, tuple[int, int] | None]
"""GPU, count, engine, precision and split of a row."""


@dataclass(frozen=True)
class Planned:
    """`rows` are ranked and belong to `spec`; `plan` is None until all are found. They are `stale`
    while they belong to an earlier draft. `progress` says what is being done, "" if nothing is;
    `error` why the draft has no plan."""

    draft: Draft
    spec: Spec | None = None
    rows: tuple[Row, ...] = ()
    plan: Plan | None = None
    stale: bool = False
    progress: str = ""
    error: str = ""
    chosen: Candidate | None = None

    @property
    def row(self) -> Row | None:
        """The candidate that is chosen, else the first."""
        chosen = (row for row in self.rows if candidate_of(row) == self.chosen)
        return next(chosen, self.rows[0] if self.rows else None)

    @property
    def page(self) -> str:
        """The page that the candidate opens on."""
        return "Cluster" if self.row is not None and is_cluster_step(self.row) else "Explore"


def candidate_of(row: Row) -> Candidate:
    """What tells a row from the others of its plan."""
    return row.gpu, row.count, row.engine, row.precision, row.split, row.pools

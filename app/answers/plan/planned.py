"""The contents of the plan's page: the draft, the candidates so far, and the chosen one."""

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
    """`rows` are ranked and belong to `spec`; `plan` is None until all are complete. They are
    `stale` while they belong to an earlier draft. `progress` names the current work, or is
    empty; `error` is the reason why the draft has no plan."""

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
        """The chosen candidate, else the first."""
        chosen = (row for row in self.rows if candidate_of(row) == self.chosen)
        return next(chosen, self.rows[0] if self.rows else None)

    @property
    def complete(self) -> bool:
        """Whether the statuses of `rows` are final."""
        return self.plan is not None

    @property
    def page(self) -> str:
        """The page that shows the candidate."""
        return "Explore" if self.row is None else page_of(self.row)


def page_of(row: Row) -> str:
    """The page that shows the step of a row."""
    return "Cluster" if is_cluster_step(row) else "Explore"


def candidate_of(row: Row) -> Candidate:
    """The fields that identify a row of its plan."""
    return row.gpu, row.count, row.engine, row.precision, row.split, row.pools

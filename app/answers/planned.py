"""A plan as the page shows it: the draft, the candidates found so far, and what is chosen."""

from __future__ import annotations

from dataclasses import dataclass

from app.answers.plan_draft import Draft
from simulator.planning import Plan, Row
from simulator.planning.row_scenario import replica_of
from simulator.planning.spec import Spec
from simulator.scenario.scenario import Scenario

Candidate = tuple[str, int, str, str, int]
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
    def whole_replica(self) -> Scenario | None:
        """The step of the candidate's replica for the Cluster page; None where it opens in
        Explore."""
        row = self.row
        if row is None or self.spec is None or row.split == 1:
            return None
        return replica_of(self.spec, row)


def candidate_of(row: Row) -> Candidate:
    """What tells a row from the others of its plan."""
    return row.gpu, row.count, row.engine, row.precision, row.split

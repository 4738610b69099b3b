"""Errors of networks that cannot be traced anywhere, as texts whose sizes are expressions of batch
and sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from simulator.errors import InputError
from simulator.symbols.cells import Cell
from simulator.symbols.expressions import Atom, Expression, Point, Search
from simulator.symbols.family import Family
from simulator.symbols.probes import Tracer
from simulator.symbols.symbolic import Symbolic
from simulator.symbols.templates import Slots, fill, template


class Refusal(msgspec.Struct, frozen=True):
    """The text of an error, a template, and the terms of its sizes by slot: coefficients, each with
    atoms."""

    text: tuple[str, Any]
    sizes: list[list[tuple[int, list[tuple[int, int, int]]]]]

    @staticmethod
    def fit(points: Sequence[Point], texts: Sequence[str]) -> Refusal:
        """The refusal with `texts` at `points`. Raises ProgramMismatchError if the texts differ in
        more than sizes."""
        slots = Slots()
        text = template(texts, slots)
        expressions = slots.expressions(Search(points)) if text[0] != "same" else []
        sizes = [
            [(c, [(a.axis, a.divisor, a.most) for a in atoms]) for c, atoms in e.terms]
            for e in expressions
        ]
        return Refusal(text, sizes)

    def at(self, batch: int, seq: int) -> str:
        """The text at a point."""
        expressions = [
            Expression(tuple((c, tuple(Atom(*atom) for atom in atoms)) for c, atoms in terms))
            for terms in self.sizes
        ]
        return fill(self.text, [e.at(batch, seq) for e in expressions])


@dataclass(frozen=True)
class Refused(Symbolic):
    """The points at which a network is refused with one error; other points are traced."""

    refusal: Refusal | None = None

    @staticmethod
    def within(
        families: Symbolic, refusal: Refusal, tracer: Tracer, places: Sequence[int] = ()
    ) -> Refused:
        """A refusal at all points that `families` hold, or those of the cells at `places`."""
        cells: list[tuple[Cell, int]] = families.cells
        if places:
            cells = [cells[place] for place in places]
        return Refused(tracer, {}, cells, families.failures, families.has_seq, 0, refusal=refusal)

    def _family(self, batch: int, seq: int) -> Family | None:
        if self.refusal and any(cell.holds(batch, seq) for cell, _ in self.cells):
            raise InputError(self.refusal.at(batch, seq))
        return None

"""Up to four scenarios: a waterfall from A to each of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.plots.picture import Picture
from app.plots.waterfall import Falls
from app.quantities import change, seconds
from app.report.sides import LETTERS
from app.theme import BODY_PX, Theme

if TYPE_CHECKING:
    from simulator.analysis.compare import Comparison


class ComparePicture(Picture):
    """Waterfalls below each other."""

    def __init__(self, theme: Theme, found: Comparison, names: tuple[str, ...]) -> None:
        steps = max(len(fall.steps) for fall in found.waterfalls)
        self.SIZE = (max(760, 190 + 150 * (steps + 2)), 130 + 400 * len(found.waterfalls))
        first = found.predictions[0]
        about = (
            "Each change is predicted after those to its left; they add up. Ring: the change alone"
        )
        super().__init__(theme, f"A  {names[0]}: {seconds(first.period_s)} per step", about)
        colours = theme.sides
        for index, fall in enumerate(found.waterfalls):
            letter, p = LETTERS[index + 1], found.predictions[index + 1]
            text = f"{letter}  {names[index + 1]}: {seconds(p.period_s)} per step, "
            text += change(first.period_s, p.period_s)
            self.heading(text, BODY_PX, 600, colours[index + 1])
            Falls(self, self.plot(), fall, ("A", letter), (theme.a, colours[index + 1]))

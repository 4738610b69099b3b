"""A formula: a figure's rule, the rule with current values, its meaning and its lesson."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Formula:
    """`rule` and `sum` are the right sides of `name` = …; `lesson` is the stem of a lesson's file,
    or ""."""

    name: str
    rule: str
    sum: str
    means: str = ""
    lesson: str = ""

    @property
    def text(self) -> str:
        """The text of the tooltip."""
        lines = [f"{self.name} = {self.rule}", f"= {self.sum}", self.means]
        if self.lesson:
            lines.append(f"F1: the lesson “{title_of(self.lesson)}”")
        return "\n".join(line for line in lines if line)


@lru_cache
def title_of(lesson: str) -> str:
    """The title of a packaged lesson."""
    from app.lessons import FOLDER  # only lessons' titles need it: it is slow

    return str(tomllib.loads((FOLDER / f"{lesson}.toml").read_text("utf-8"))["title"])

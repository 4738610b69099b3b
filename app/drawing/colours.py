"""Colours of drawings: roles of the theme, mixes of two roles, and patterns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from app.theme import Theme, mixed
from simulator.prediction import Regime

Role = Literal[
    "bg0", "bg1", "bg2", "bg3", "line", "line2", "grid", "ink", "ink2", "ink3",
    "compute", "memory", "overhead", "communication", "compute_ink", "memory_ink", "overhead_ink",
    "communication_ink", "on_compute", "zigzag_ground",
    "a", "b", "c", "on_accent", "focus", "danger", "danger_ground",
]  # fmt: skip
"""A colour of the theme by name. A regime's name is its fill, with `_ink` the colour of its words;
`on_compute` is text on the solid fill of compute."""

SIDES: tuple[Role, ...] = ("a", "b", "c", "focus")
"""The colours of scenarios A to D."""

STACK: tuple[Regime, ...] = ("overhead", "memory", "compute")
"""The order of stacked shares of time, from the bottom up."""


@dataclass(frozen=True, slots=True)
class Mix:
    """A role's colour with the opacity `share`, over a background in another role's colour."""

    role: Role
    share: float
    ground: Role = "bg1"


Colour = Role | Mix

Mark = Regime | Literal["communication"]
"""A regime of one GPU or of several."""

PatternKind = Literal["compute", "memory", "overhead", "communication", "idle", "bubble", "refused"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """The fill of a regime ("compute" solid, "memory" dotted, "overhead" hatched, "communication"
    in zigzags), of idle time, of a bubble in a pipeline or of a refused area. `strength` mixes its
    colours with the panel's; without `ground` (the background) only the dots, strips or zigzags are
    drawn."""

    kind: PatternKind
    strength: float = 1.0
    ground: bool = True


Fill = Colour | Pattern

_INKS: dict[Mark, Role] = {
    "compute": "compute_ink",
    "memory": "memory_ink",
    "overhead": "overhead_ink",
    "communication": "communication_ink",
}


def regime_ink(regime: Mark) -> Role:
    """The colour of a regime's words."""
    return _INKS[regime]


@lru_cache(maxsize=1024)
def hex_colour(colour: Colour, theme: Theme) -> str:
    """A colour as "#RRGGBB" in a theme."""
    if isinstance(colour, Mix):
        return mixed(hex_colour(colour.role, theme), hex_colour(colour.ground, theme), colour.share)
    if colour in _INKS:
        return theme.regime(colour).fill
    if colour.endswith("_ink"):
        return theme.regime(colour.removesuffix("_ink")).ink
    if colour == "on_compute":
        return theme.bg0 if theme.name == "dark" else theme.bg2
    return str(getattr(theme, colour))


def name_of(colour: Colour) -> str:
    """A name of a colour in a style sheet, such as "memory-ink" or "memory-7-bg1"."""
    if isinstance(colour, Mix):
        share = f"{100 * colour.share:g}".replace(".", "_")
        return f"{name_of(colour.role)}-{share}-{name_of(colour.ground)}"
    return colour.replace("_", "-")

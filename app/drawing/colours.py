"""Colours of drawings: roles of the theme, mixes of two roles, and patterns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from app.theme import Theme, mixed
from simulator.prediction import REGIMES, Regime

Role = Literal[
    "bg0", "bg1", "bg2", "bg3", "line", "line2", "grid", "ink", "ink2", "ink3",
    "compute", "memory", "overhead", "compute_ink", "memory_ink", "overhead_ink", "on_compute",
    "a", "b", "c", "on_accent", "focus", "danger", "danger_ground",
]  # fmt: skip
"""A colour of the theme by name. A regime's name is its fill, with `_ink` the colour of its words;
`on_compute` is text on the solid fill of compute."""

SIDES: tuple[Role, ...] = ("a", "b", "c", "focus")
"""The colours of scenarios A to D."""


@dataclass(frozen=True, slots=True)
class Mix:
    """`share` of a role on an opaque ground of another role."""

    role: Role
    share: float
    ground: Role = "bg1"


Colour = Role | Mix

PatternKind = Literal["compute", "memory", "overhead", "idle", "refused"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """The fill of a regime ("compute" solid, "memory" dotted, "overhead" hatched), of idle time or
    of a refused area. `strength` mixes its colours with the panel's; without `ground` only the dots
    or strips are drawn."""

    kind: PatternKind
    strength: float = 1.0
    ground: bool = True


Fill = Colour | Pattern

_INKS: dict[Regime, Role] = {
    "compute": "compute_ink",
    "memory": "memory_ink",
    "overhead": "overhead_ink",
}


def regime_ink(regime: Regime) -> Role:
    """The colour of a regime's words."""
    return _INKS[regime]


@lru_cache(maxsize=1024)
def hex_colour(colour: Colour, theme: Theme) -> str:
    """A colour as "#RRGGBB" in a theme."""
    if isinstance(colour, Mix):
        return mixed(hex_colour(colour.role, theme), hex_colour(colour.ground, theme), colour.share)
    if colour in REGIMES:
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

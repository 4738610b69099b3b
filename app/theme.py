"""The colours, sizes and fonts of every picture: one set of tokens, dark and light.

A regime is shown by word, colour, shape and pattern, so that no one has to rely on its colour. This
module needs no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.errors import InputError

ThemeName = Literal["dark", "light"]
Rgb = tuple[float, float, float]


@dataclass(frozen=True)
class Ink:
    """A regime's colours: `fill` of areas and marks, `ink` of words on a background."""

    fill: str
    ink: str


@dataclass(frozen=True)
class Theme:
    """Tokens by name. Backgrounds from the window up to chips are bg0 to bg3; ink to ink3 are main,
    supporting and quiet text. `a` is the baseline, `b` a variant (and the colour of controls).
    The zigzag of communication is drawn on `zigzag_ground`."""

    name: ThemeName
    bg0: str
    bg1: str
    bg2: str
    bg3: str
    line: str
    line2: str
    grid: str
    ink: str
    ink2: str
    ink3: str
    compute: Ink
    memory: Ink
    overhead: Ink
    communication: Ink
    zigzag_ground: str
    a: str
    b: str
    c: str
    on_accent: str
    focus: str
    danger: str
    danger_ground: str

    def __hash__(self) -> int:
        """Hash the name alone, because caches look up a theme for every painted item."""
        return hash(self.name)

    def regime(self, name: str) -> Ink:
        """The colours of "compute", "memory", "overhead" or "communication"."""
        return {
            "compute": self.compute,
            "memory": self.memory,
            "overhead": self.overhead,
            "communication": self.communication,
        }[name]

    @property
    def sides(self) -> tuple[str, str, str, str]:
        """The colours of scenarios A to D."""
        return (self.a, self.b, self.c, self.focus)


DARK = Theme(
    "dark", bg0="#0D1116", bg1="#141920", bg2="#1A2029", bg3="#252D38", line="#2A333F",
    line2="#465363", grid="#222A34", ink="#EAEEF3", ink2="#B3BDC9", ink3="#8E9AA8",
    compute=Ink("#419FE3", "#6DB9F2"), memory=Ink("#E69F00", "#F0B030"),
    overhead=Ink("#EDA6CC", "#F0B2D3"), communication=Ink("#009E73", "#7CCB74"),
    zigzag_ground="#083C2E", a="#B3BDC9", b="#2EC4A0", c="#E9DD6A",
    on_accent="#06231C", focus="#7FE3CB", danger="#FF8F5A", danger_ground="#3A2017",
)  # fmt: skip

LIGHT = Theme(
    "light", bg0="#E9ECF0", bg1="#F5F7F9", bg2="#FFFFFF", bg3="#E8ECF1", line="#D3D9E0",
    line2="#8B97A5", grid="#E9EDF1", ink="#131920", ink2="#414C59", ink3="#5C6774",
    compute=Ink("#00619F", "#005A94"), memory=Ink("#C27C00", "#855600"),
    overhead=Ink("#C9649F", "#96386F"), communication=Ink("#009E73", "#2F6B1E"),
    zigzag_ground="#F5F7F9", a="#4A5562", b="#00745A", c="#716500",
    on_accent="#FFFFFF", focus="#00614B", danger="#B04300", danger_ground="#FCE9DF",
)  # fmt: skip

THEMES: dict[str, Theme] = {theme.name: theme for theme in (DARK, LIGHT)}

TERMINAL = {"compute": "#2E8BD0", "memory": "#C27C00", "overhead": "#C9649F"}
"""The colours of the regimes on a terminal whose background is unknown: their contrast is at least
3:1 on black and on white."""

VIRIDIS = (
    "#440154", "#472D7B", "#3B528B", "#2C728E", "#21918C", "#28AE80", "#5EC962", "#ADDC30",
    "#FDE725",
)  # fmt: skip
"""The map viridis of matplotlib (S. van der Walt and N. Smith, CC0) at eighths: lightness rises
evenly, even for colour-blind readers."""
_ORDERED_ENDS = {"dark": (0.4, 1.0), "light": (0.0, 0.52)}
"""The part of VIRIDIS with a contrast of at least 3:1 on the panels of a theme."""

FAMILIES = ("Inter", "Segoe UI", "SF Pro", "Noto Sans", "DejaVu Sans", "sans-serif")
FIXED_FAMILIES = ("JetBrains Mono", "DejaVu Sans Mono", "monospace")
LABEL_PX, SUPPORT_PX, BODY_PX, FIGURE_PX, HEAD_PX = 11, 12, 13, 15, 20
"""Font sizes: labels and ticks, secondary text, body and panel titles, figures of cards, the
headline."""

SECOND_WIDTH, CEILING_WIDTH, CURVE_WIDTH = 1.6, 2.2, 2.4


def theme(name: str) -> Theme:
    """The theme with this name. Raises InputError if the name is unknown."""
    if name not in THEMES:
        raise InputError(f"unknown theme {name!r}: expected dark or light")
    return THEMES[name]


def rgb(colour: str) -> Rgb:
    """Red, green and blue from 0 to 1 of "#RRGGBB"."""
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return red, green, blue


def mixed(one: str, other: str, share: float) -> str:
    """The colour `share` · `one` + (1 − `share`) · `other`."""
    parts = zip(rgb(one), rgb(other), strict=True)
    return "#" + "".join(f"{round(255 * (a * share + b * (1 - share))):02X}" for a, b in parts)


def ordered_colours(theme: Theme, count: int) -> list[str]:
    """Colours of `count` values in their order, evenly spaced on the readable part of VIRIDIS."""
    low, high = _ORDERED_ENDS[theme.name]
    colours: list[str] = []
    for place in range(count):
        at = (low + (high - low) * place / max(1, count - 1)) * (len(VIRIDIS) - 1)
        left = min(int(at), len(VIRIDIS) - 2)
        colours.append(mixed(VIRIDIS[left + 1], VIRIDIS[left], at - left))
    return colours


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, from 1 to 21 (WCAG 2.2, relative luminance)."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = map(_linear, rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

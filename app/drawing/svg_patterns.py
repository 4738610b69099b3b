"""The patterns of the regimes as SVG `<pattern>` elements."""

from __future__ import annotations

from collections.abc import Callable

from app.drawing.colours import Colour, Fill, Mix, Pattern, Role
from app.drawing.shapes import (
    BUBBLE_PX,
    DOTS_PX,
    HATCH_PX,
    IDLE_PX,
    REFUSED_PX,
    ZIGZAG_PX,
    ZIGZAG_WIDE,
)


def pattern_id(pattern: Pattern) -> str:
    """The name of a pattern's element."""
    ground = "" if pattern.ground else "-bare"
    return f"{pattern.kind}-{100 * pattern.strength:g}{ground}".replace(".", "_")


def plain(fill: Fill | None) -> Fill | None:
    """A fill; the solid pattern of compute becomes its plain colour."""
    if isinstance(fill, Pattern) and fill.kind == "compute":
        return _mix("compute", fill.strength)
    return fill


def definition(pattern: Pattern, colour: Callable[[Colour], str]) -> str:
    """The `<pattern>` element of a pattern: a tile of its background, then dots or strips."""
    strength = pattern.strength
    match pattern.kind:
        case "memory":
            dots = _dots(colour(_mix("memory", strength)))
            return _tile(pattern, DOTS_PX, colour(_mix("memory", 0.45 * strength)), dots)
        case "overhead":
            strips = _strips(HATCH_PX, 2.0, colour(_mix("overhead", strength)))
            return _tile(pattern, HATCH_PX, colour(_mix("overhead", 0.34 * strength)), strips)
        case "idle":
            strips = _strips(IDLE_PX, 1.0, colour(_mix("overhead", 0.5 * strength)))
            return _tile(pattern, IDLE_PX, colour(_mix("overhead", 0.10 * strength)), strips)
        case "refused":
            strips = _strips(REFUSED_PX, 1.0, colour("line2"))
            return _tile(pattern, REFUSED_PX, colour("bg0"), strips)
        case "communication":
            wide, high = ZIGZAG_PX
            line = _zigzag(colour(_mix("communication", strength)))
            ground = Mix("zigzag_ground", strength) if strength < 1 else "zigzag_ground"
            return _tile(pattern, wide, colour(ground), line, high)
        case "bubble":
            strips = _strips(BUBBLE_PX, 1.0, colour(Mix("ink3", 0.55 * strength)))
            return _tile(pattern, BUBBLE_PX, colour("bg1"), strips)
        case "compute":
            raise ValueError("expected a pattern with dots or strips; compute is solid: use plain")


def _mix(role: Role, share: float) -> Colour:
    return role if share == 1.0 else Mix(role, share)


def _tile(
    pattern: Pattern, pitch: float, ground: str, shapes: str, high: float | None = None
) -> str:
    size = f'width="{pitch:g}" height="{high or pitch:g}"'
    below = f'<rect {size} fill="{ground}"/>' if pattern.ground else ""
    head = f'<pattern id="{pattern_id(pattern)}" {size} patternUnits="userSpaceOnUse">'
    return f"{head}{below}{shapes}</pattern>"


def _strips(pitch: float, wide: float, colour: str) -> str:
    """Strips from the lower left to the upper right; strips of neighbouring tiles fill the
    corners."""
    lines = "".join(
        f"M{start - 1:g} {pitch + 1:g}L{start + pitch + 1:g} -1" for start in (-pitch, 0.0, pitch)
    )
    return f'<path d="{lines}" stroke="{colour}" stroke-width="{wide:g}" fill="none"/>'


def _zigzag(colour: str) -> str:
    """A line down and up again, continued by the neighbouring tiles."""
    wide, high = ZIGZAG_PX
    low, top = 0.79 * high, 0.21 * high
    places = (-wide / 2, top), (0.0, low), (wide / 2, top), (wide, low), (1.5 * wide, top)
    steps = f"M{'L'.join(f'{x:g} {y:g}' for x, y in places)}"
    return f'<path d="{steps}" stroke="{colour}" stroke-width="{ZIGZAG_WIDE:g}" fill="none"/>'


def _dots(colour: str) -> str:
    half = DOTS_PX / 2
    places = ((0, 0), (DOTS_PX, 0), (0, DOTS_PX), (DOTS_PX, DOTS_PX), (half, half))
    circles = "".join(f'<circle cx="{x:g}" cy="{y:g}" r="1.2"/>' for x, y in places)
    return f'<g fill="{colour}">{circles}</g>'

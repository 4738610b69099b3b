"""The patterns of the regimes as SVG `<pattern>` elements."""

from __future__ import annotations

from collections.abc import Callable

from app.drawing.colours import Colour, Fill, Mix, Pattern, Role
from app.drawing.shapes import DOTS_PX, HATCH_PX, IDLE_PX, REFUSED_PX


def pattern_id(pattern: Pattern) -> str:
    """The name of a pattern's element."""
    ground = "" if pattern.ground else "-bare"
    return f"{pattern.kind}-{100 * pattern.strength:g}{ground}".replace(".", "_")


def plain(fill: Fill | None) -> Fill | None:
    """A fill, with the solid pattern of compute as its colour."""
    if isinstance(fill, Pattern) and fill.kind == "compute":
        return _mix("compute", fill.strength)
    return fill


def definition(pattern: Pattern, colour: Callable[[Colour], str]) -> str:
    """The `<pattern>` element of a pattern: a tile of its ground, then dots or strips."""
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
        case "compute":
            raise ValueError("expected a pattern with dots or strips; compute is solid: use plain")


def _mix(role: Role, share: float) -> Colour:
    return role if share == 1.0 else Mix(role, share)


def _tile(pattern: Pattern, pitch: float, ground: str, shapes: str) -> str:
    size = f'width="{pitch:g}" height="{pitch:g}"'
    below = f'<rect {size} fill="{ground}"/>' if pattern.ground else ""
    head = f'<pattern id="{pattern_id(pattern)}" {size} patternUnits="userSpaceOnUse">'
    return f"{head}{below}{shapes}</pattern>"


def _strips(pitch: float, wide: float, colour: str) -> str:
    """Strips from the lower left to the upper right; the neighbouring ones reach into the
    corners."""
    lines = "".join(
        f"M{start - 1:g} {pitch + 1:g}L{start + pitch + 1:g} -1" for start in (-pitch, 0.0, pitch)
    )
    return f'<path d="{lines}" stroke="{colour}" stroke-width="{wide:g}" fill="none"/>'


def _dots(colour: str) -> str:
    half = DOTS_PX / 2
    places = ((0, 0), (DOTS_PX, 0), (0, DOTS_PX), (DOTS_PX, DOTS_PX), (half, half))
    circles = "".join(f'<circle cx="{x:g}" cy="{y:g}" r="1.2"/>' for x, y in places)
    return f'<g fill="{colour}">{circles}</g>'

"""A drawing as SVG text: a complete document, or an element of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape

from app.drawing.colours import Colour, Fill, Pattern, hex_colour, name_of
from app.drawing.geometry import Box, Point
from app.drawing.items import (
    SHARES_LEFT,
    Dash,
    Group,
    Item,
    Line,
    Marker,
    Markers,
    Path,
    Pill,
    Raster,
    Rectangle,
    Rectangles,
    Text,
)
from app.drawing.picture import Drawing, Spot
from app.drawing.raster import png_address
from app.drawing.shapes import corners
from app.drawing.svg_patterns import definition, pattern_id, plain
from app.theme import FAMILIES, FIXED_FAMILIES, LABEL_PX, Theme

ColourText = Callable[[Colour], str]
_DASHES: dict[Dash, tuple[float, float]] = {"dashed": (3.4, 2.4), "dotted": (1.4, 1.8)}
_PILL = 0.92
_CENTRED = 0.35
"""The distance from the middle of a line of text to its baseline, in em."""


def document(drawing: Drawing, theme: Theme) -> str:
    """An SVG document in the colours of a theme."""

    def colour(of: Colour) -> str:
        return hex_colour(of, theme)

    size = f'width="{_n(drawing.width)}" height="{_n(drawing.height)}"'
    return element(drawing, colour, f'xmlns="http://www.w3.org/2000/svg" {size}', "bg1") + "\n"


def variable(of: Colour) -> str:
    """A colour as a custom property of a page's style sheet; `properties` defines them."""
    return f"var(--{name_of(of)})"


def properties(drawings: Iterable[Drawing], theme: Theme) -> dict[str, str]:
    """The custom properties that `variable` names, with their colours in a theme."""
    return {name_of(of): hex_colour(of, theme) for each in drawings for of in _colours(each)}


def element(
    drawing: Drawing, colour: ColourText, attributes: str = "", ground: Colour | None = None
) -> str:
    """An `<svg>` element. `colour` writes a colour; `attributes` are added to the element."""
    fills = {
        plain(i.fill)
        for i in _leaves(drawing.items)
        if isinstance(i, Rectangle | Rectangles | Path)
    }
    patterns = sorted((f for f in fills if isinstance(f, Pattern)), key=pattern_id)
    families = ", ".join(FAMILIES)
    parts = [
        f'<svg viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}" role="img" '
        f'font-family="{families}" font-size="{LABEL_PX}" {attributes}>',
        f"<title>{escape(drawing.title)}</title>" if drawing.title else "",
        f"<defs>{''.join(definition(each, colour) for each in patterns)}</defs>",
    ]
    if ground:
        parts.append(f'<rect width="100%" height="100%" fill="{colour(ground)}"/>')
    parts += [_item(item, colour) for item in drawing.items]
    parts += [_spot(spot) for spot in drawing.spots if spot.tooltip]
    return "\n".join(part for part in [*parts, "</svg>"] if part)


def _leaves(items: Iterable[Item]) -> Iterable[Item]:
    for item in items:
        yield item
        if isinstance(item, Group):
            yield from _leaves(item.items)


def _colours(drawing: Drawing) -> set[Colour]:
    """Every colour that `element` writes."""
    used: set[Colour] = set()

    def note(of: Colour) -> str:
        used.add(of)
        return ""

    element(drawing, note)
    return used


def _n(value: float) -> str:
    """A coordinate rounded to a tenth of a pixel."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def _item(item: Item, colour: ColourText) -> str:
    match item:
        case Line():
            return _line(item, colour)
        case Rectangle():
            style = _style(item.fill, item.edge, item.edge_width, item.dash, item.opacity, colour)
            rounded = f' rx="{_n(item.radius)}"' if item.radius else ""
            return f"<rect {_box(item.box)}{rounded}{style}/>"
        case Rectangles():
            crisp = ' shape-rendering="crispEdges"' if item.crisp else ""
            style = _style(item.fill, None, 0.0, "solid", item.opacity, colour)
            return f'<path d="{"".join(map(_outline, item.boxes))}"{style}{crisp}/>'
        case Path():
            style = _style(item.fill, item.edge, item.edge_width, "solid", item.opacity, colour)
            steps = "".join(f"{step[0]}{' '.join(map(_n, step[1:]))}" for step in item.steps)
            return f'<path d="{steps}"{style}/>'
        case Marker():
            return _marker(item, colour)
        case Markers():
            each = (item.regime, item.radius, item.edge, False, item.opacity)
            return "\n".join(_marker(Marker(*at, *each), colour) for at in item.points)
        case Text():
            return _text(item, colour)
        case Pill():
            return _pill(item, colour)
        case Raster():
            address = png_address(item.cells, tuple(colour(each) for each in item.palette))
            rendering = "auto" if item.smooth else "pixelated"
            style = f'preserveAspectRatio="none" style="image-rendering:{rendering}"'
            return f'<image {_box(item.box)} {style} href="{address}"/>'
        case Group():
            inside = "\n".join(_item(each, colour) for each in item.items)
            if item.clip is None:
                return f"<g>{inside}</g>"
            name = "clip-" + "-".join(map(_n, _edges(item.clip)))
            shape = f'<clipPath id="{name}"><rect {_box(item.clip)}/></clipPath>'
            return f'{shape}<g clip-path="url(#{name})">{inside}</g>'


def _edges(box: Box) -> tuple[float, float, float, float]:
    return box.left, box.top, box.width, box.height


def _box(box: Box) -> str:
    return (
        f'x="{_n(box.left)}" y="{_n(box.top)}" width="{_n(max(box.width, 0.0))}" '
        f'height="{_n(max(box.height, 0.0))}"'
    )


def _outline(box: Box) -> str:
    wide, high = _n(box.width), _n(box.height)
    return f"M{_n(box.left)} {_n(box.top)}h{wide}v{high}h-{wide}z"


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _style(
    fill: Fill | None,
    edge: Colour | None,
    edge_width: float,
    dash: Dash,
    opacity: float,
    colour: ColourText,
) -> str:
    fill = plain(fill)
    if isinstance(fill, Pattern):
        text = f' fill="url(#{pattern_id(fill)})"'
    else:
        text = f' fill="{colour(fill) if fill else "none"}"'
    if edge:
        text += f' stroke="{colour(edge)}" stroke-width="{_n(edge_width)}"{_dash(dash, edge_width)}'
    return text + (f' opacity="{opacity:g}"' if opacity != 1.0 else "")


def _dash(dash: Dash, width: float) -> str:
    if dash == "solid":
        return ""
    return f' stroke-dasharray="{" ".join(_n(each * width) for each in _DASHES[dash])}"'


def _line(line: Line, colour: ColourText) -> str:
    shape = f'<polyline points="{_points(line.points)}" fill="none" stroke-linejoin="round" '
    text = ""
    if line.casing:
        casing = f'stroke="{colour(line.casing)}" stroke-width="{_n(line.width + 3)}"'
        text = f'{shape}stroke-linecap="round" {casing}/>'
    opacity = f' opacity="{line.opacity:g}"' if line.opacity != 1.0 else ""
    stroke = f'stroke="{colour(line.colour)}" stroke-width="{_n(line.width)}"'
    return f"{text}{shape}{stroke}{_dash(line.dash, line.width)}{opacity}/>"


def _marker(mark: Marker, colour: ColourText) -> str:
    own: Colour = mark.regime or "ink"
    edge = mark.edge or (own if mark.hollow else "bg1")
    fill: Colour = "bg1" if mark.hollow else own
    style = _style(fill, edge, mark.edge_width, "solid", mark.opacity, colour)
    outline = corners(mark.regime, mark.radius)
    if outline:
        return f'<polygon points="{_points((mark.x + x, mark.y + y) for x, y in outline)}"{style}/>'
    return f'<circle cx="{_n(mark.x)}" cy="{_n(mark.y)}" r="{_n(mark.radius)}"{style}/>'


def _text(text: Text, colour: ColourText) -> str:
    options = f' fill="{colour(text.colour)}"'
    if SHARES_LEFT[text.anchor]:
        options += f' text-anchor="{text.anchor}"'
    if text.px != LABEL_PX:
        options += f' font-size="{text.px}"'
    if text.weight != 400:
        options += f' font-weight="{text.weight}"'
    if text.mono:
        options += f' font-family="{", ".join(FIXED_FAMILIES)}"'
    if text.turn:
        options += f' transform="rotate({_n(text.turn)} {_n(text.x)} {_n(text.y)})"'
    place = f'x="{_n(text.x)}" y="{_n(text.y + _CENTRED * text.px)}"'
    return f"<text {place}{options}>{escape(text.words)}</text>"


def _pill(label: Pill, colour: ColourText) -> str:
    opacity = 1.0 if label.ground else _PILL
    style = _style(label.ground or "bg1", label.edge, 1.0, "solid", opacity, colour)
    return f'<rect {_box(label.box)} rx="4"{style}/>{_text(label.text, colour)}'


def _spot(spot: Spot) -> str:
    """A transparent region with its tooltip."""
    if spot.round:
        x, y = spot.box.centre
        shape = f'<ellipse cx="{_n(x)}" cy="{_n(y)}" rx="{_n(spot.box.width / 2)}" '
        shape += f'ry="{_n(spot.box.height / 2)}"/>'
    else:
        shape = f"<rect {_box(spot.box)}/>"
    return f'<g fill="none" pointer-events="all"><title>{escape(spot.tooltip)}</title>{shape}</g>'

"""Pictures without Qt: items in pixels whose colours are roles of the theme.

A picture is one function in `app.charts` that returns a `Drawing`; PNG, SVG, the HTML report and
the window all render that drawing::

    def bars(times: Times, width: float, height: float, metrics: Metrics) -> Drawing:
        items = [
            Rectangle(Box(60, 20, 200, 12), fill="b"),          # a colour is a role of the theme
            Rectangle(Box(60, 40, 90, 12), fill=Pattern("memory")),
            Line(((60, 10), (60, 60)), "grid"),
            Marker(150, 46, "compute", radius=6),               # a regime's shape
            Text(52, 26, "attention", "ink2", anchor="end"),    # centred vertically on y
            pill(metrics, 270, 26, "1.20 ms"),                  # measured: hides lines below it
        ]
        return Drawing(width, height, tuple(items), (Spot("attention", Box(60, 20, 200, 12)),))

Origin at the upper left, y downwards. Items later in the tuple cover earlier ones.

- `items`: Line, Rectangle, Rectangles, Path (`polygon` closes one), Marker, Markers, Text, Pill,
  Raster, Group (clips its items to a box).
- `colours`: a `Role` ("ink", "memory", "memory_ink", ...), a `Mix` of two roles, or as fill the
  `Pattern` of a regime, of idle time or of a refused area.
- `spots`: the regions that the pointer can pick, with a key for the window and a tooltip for HTML.
- `metrics`: text measurement, passed in: `TABULATED` for files, `QT_METRICS` of
  `app.widgets.drawn` on a screen.
- `labels`: placement of labels without overlaps.

Renderers: `app.drawing.svg` (text: SVG files, HTML), and `app.widgets.drawn` (QPainter: windows,
PNG).

May import the theme and the simulator's regimes.
"""

from app.drawing.colours import Colour, Fill, Mark, Mix, Pattern, Role, hex_colour, regime_ink
from app.drawing.geometry import Box, Point
from app.drawing.items import (
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
    pill,
    polygon,
)
from app.drawing.metrics import TABULATED, Metrics, elided, fitting
from app.drawing.picture import Drawing, Spot

__all__ = [
    "TABULATED",
    "Box",
    "Colour",
    "Drawing",
    "Fill",
    "Group",
    "Item",
    "Line",
    "Mark",
    "Marker",
    "Markers",
    "Metrics",
    "Mix",
    "Path",
    "Pattern",
    "Pill",
    "Point",
    "Raster",
    "Rectangle",
    "Rectangles",
    "Role",
    "Spot",
    "Text",
    "elided",
    "fitting",
    "hex_colour",
    "pill",
    "polygon",
    "regime_ink",
]

"""The units of the plan's verdict bar in narrow columns."""

from dataclasses import replace

from app.charts.plan.headline import headline_drawing
from app.drawing import TABULATED, Text
from app.scenes.plan.headline import Figure, headline_scene
from simulator.planning.spec_file import read
from tests.app.charts.plan_rows import ROWS, SERVE


def test_a_narrow_rate_is_per_second() -> None:
    rate = Figure("Carries at most", "33,600", "a second")
    scene = replace(headline_scene(read(SERVE), ROWS[0]), figures=(rate,) * 5)
    units: dict[int, set[str]] = {}
    for width in (1600, 964):
        items = headline_drawing(scene, width, 92, TABULATED).items
        units[width] = {item.words for item in items if isinstance(item, Text) and item.y == 48}
    assert units == {1600: {"a second"}, 964: {"/s"}}

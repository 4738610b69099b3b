"""The HTML page of a plan, with the pictures of the window."""

from __future__ import annotations

from markupsafe import Markup

from app.answers.plan.planned import candidate_of
from app.charts.plan.front import front_drawing
from app.charts.plan.queue import queue_drawing
from app.charts.plan.tornado import tornado_drawing, tornado_height
from app.drawing import TABULATED, Drawing
from app.drawing.svg import document, element, properties, variable
from app.html.templates import rendered
from app.report.plan import assumption_cells, cells, headings
from app.scenes.plan.front import front_scene
from app.scenes.plan.queue import queue_scene
from app.scenes.plan.tornado import tornado_scene
from app.theme import THEMES, Theme
from simulator.errors import InputError
from simulator.planning import Plan
from simulator.planning.server.queue_detail import queue_of
from simulator.planning.spec import Spec

_WIDTH, _FRONT_HEIGHT, _QUEUE_HEIGHT = 1080, 460, 400


def plan_page(spec: Spec, plan: Plan) -> str:
    """Render a plan as one document without scripts; all names are escaped. The queue of a service
    is simulated again."""
    drawings = _drawings(spec, plan)
    contents = {
        "plan": plan,
        "pictures": [(name, Markup(element(each, variable))) for name, each in drawings.items()],
        "headings": headings(plan),
        "rows": [(row.status not in ("fits", "uncertain"), cells(plan, row)) for row in plan.rows],
        "assumptions": assumption_cells(plan),
        "themes": [
            (name, _tokens(theme, list(drawings.values()))) for name, theme in THEMES.items()
        ],
    }
    return rendered("plan.jinja", contents)


def plan_svg(spec: Spec, plan: Plan, theme: Theme) -> str:
    """Cost against speed as an SVG file. Raises InputError if no candidate has both."""
    front = _front(spec, plan)
    if front is None:
        raise InputError(
            "there is no cost against speed to draw: expected a candidate with a price and a "
            "time; give prices.hourly, or loosen the limits"
        )
    return document(front, theme)


def _drawings(spec: Spec, plan: Plan) -> dict[str, Drawing]:
    """The pictures for which the plan has data, by heading."""
    drawings: dict[str, Drawing] = {}
    front = _front(spec, plan)
    if front is not None:
        drawings["Cost against speed"] = front
    row = plan.rows[0] if plan.rows else None
    if plan.kind == "serving" and row is not None and row.first_token_s is not None:
        scene = queue_scene(spec, queue_of(spec, row))
        heading = f"The queue of {row.configuration}"
        drawings[heading] = queue_drawing(scene, _WIDTH, _QUEUE_HEIGHT, TABULATED)
    rests = tornado_scene(spec, plan)
    if rests is not None and rests.bars:
        high = tornado_height(rests)
        heading = f"Sensitivity of {rests.candidate} to the assumptions"
        drawings[heading] = tornado_drawing(rests, _WIDTH, high, TABULATED)
    return drawings


def _front(spec: Spec, plan: Plan) -> Drawing | None:
    scene = front_scene(spec, plan.rows)
    best = candidate_of(plan.best) if plan.best else None
    if not scene.points:
        return None
    return front_drawing(scene, _WIDTH, _FRONT_HEIGHT, TABULATED, best)


def _tokens(theme: Theme, drawings: list[Drawing]) -> dict[str, str]:
    plain = ("bg0", "bg1", "line", "ink", "ink3")
    return {name: str(getattr(theme, name)) for name in plain} | properties(drawings, theme)

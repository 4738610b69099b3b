"""Every view that shows a figure has its formula, with current values."""

from typing import Any, cast

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip

from app.answers.side import Side
from app.formulas.changes import against_measured, moved_bytes, of_step, one_step
from app.formulas.factory import building
from app.formulas.formula import Formula
from app.formulas.points import regime_at, time_at
from app.formulas.timeline import before, host_op, idle, kernel
from app.quantities import seconds
from app.scenes.factory import factory
from app.views.compare.view import Compare
from app.views.factory.view import Factory
from app.views.fusion.view import FusionView
from app.views.modules.view import WhereTimeGoes
from app.views.regime_map.view import RegimeMap
from app.views.sweep.view import Sweep
from app.views.timeline.picture import Spot
from app.views.timeline.view import Timeline
from app.widgets.view import View
from simulator.analysis.compare import Step
from simulator.prediction import Prediction
from simulator.schedule.launch_plan import issued

_NOWHERE = QPoint(-1, -1)
_AT = {
    "period_s": 5e-3,
    "gpu_busy_s": 3.5e-3,
    "low_s": 4.7e-3,
    "high_s": 5.3e-3,
    "compute": 0.18,
    "memory": 0.24,
    "overhead": 0.58,
}


def of(view: View) -> Formula:
    formula = view.formula(_NOWHERE)
    assert formula is not None
    return formula


def test_a_point_has_its_numbers_put_in() -> None:
    formula = time_at("batch 64", _AT)
    assert formula.sum == "3.50 ms + 1.50 ms = 5.00 ms"  # busy and waiting
    assert formula.means.startswith("80% interval 4.7 to 5.3. 18% compute, 24% memory, 58%")
    assert (
        regime_at("batch 64", _AT).sum == "18% compute + 24% memory + 58% overhead: overhead-bound"
    )


def test_differences_have_their_numbers_put_in() -> None:
    step = Step("gpu h200 → b200", 4e-3, -1e-3, -1.2e-3, (3.5e-3, 4.5e-3), -1e-3)
    assert one_step(step).sum == "4.00 ms − 5.00 ms = −1.00 ms (−20%)"
    assert "Applied alone, it adds −1.20 ms to A" in one_step(step).means
    assert moved_bytes("layers.0", 494 << 20, 48 << 20, 2).sum == "494 MiB − 48.0 MiB = 446 MiB"
    assert moved_bytes("layers.0", 494 << 20, 48 << 20, 1).means == "1 launch fewer."
    assert of_step("head", 1e-3, 4e-3, 3).sum == "1.00 ms / 4.00 ms = 25%"
    assert against_measured("mm", 9e-6, 12e-6).sum == "9.00 µs / 12.0 µs = 0.750"


def test_a_kernel_is_the_longer_of_two_and_a_fixed_part(tiny_prediction: Prediction) -> None:
    p = tiny_prediction
    for k in range(p.kernel_count):
        c = p.columns
        parts = [seconds(float(x[k])) for x in (c.compute_s, c.memory_s, c.fixed_s, c.duration_s)]
        assert kernel(p, k).sum == f"max({parts[0]}, {parts[1]}) + {parts[2]} = {parts[3]}"
    assert idle(p).sum.endswith(f"= {seconds(p.period_s - p.gpu_busy_s)}")
    assert before(p, 0).sum.endswith(f"= {seconds(float(p.schedule.idle_s[0]))}")


def op_of_first(p: Prediction) -> int:
    """The op of the first launch."""
    return int(p.columns.op_of[0])


def test_the_host_s_ops_add_up_to_its_work(tiny_prediction: Prediction) -> None:
    p = tiny_prediction
    formulas = [host_op(p, op) for op in range(len(p.trace.ops))]
    assert all(each is not None and " × " in each.sum for each in formulas)
    launch = f"launch {int(issued(p.trace, p.gpu).launches[op_of_first(p)])} × "
    first = host_op(p, op_of_first(p))
    assert first is not None and f"{launch}{seconds(p.host.launch_s)}" in first.sum


def test_every_building_has_one(tiny_prediction: Prediction) -> None:
    f, p = factory(tiny_prediction), tiny_prediction
    assert building(f, "Managers").sum == (
        f"{seconds(p.host_s)} / {f.orders:,} = {seconds(f.order_s)}"
    )
    names = ("Managers", "In-tray", "Warehouse", "Trucks", "Machines")
    assert len({building(f, name).name for name in names}) == 5
    assert building(f, "") == building(f, "Machines")


def test_the_formula_belongs_to_the_figure_under_the_pointer(
    shown: Any, side: Side, variant: Side
) -> None:
    timeline = cast(Timeline, shown(Timeline, (side,)))
    assert of(timeline).name == "GPU idle" and timeline.canvas.lanes is not None
    timeline.canvas.over = Spot("gpu", int(timeline.canvas.lanes.gpu.kind.argmin()))
    assert of(timeline).name == "Time of a kernel"
    timeline.canvas.over = Spot("host", 0)
    assert of(timeline).name == "Host time of an op"
    sweep = cast(Sweep, shown(Sweep, (side,)))
    assert of(sweep).name.startswith("Time at batch ")
    sweep.canvas.over = 0
    assert of(sweep).name == "Time at batch 1"
    compare = cast(Compare, shown(Compare, (side, variant)))
    assert compare.fall is not None
    assert of(compare).sum.endswith(seconds(compare.fall.b.period_s))
    compare.waterfall.over = 1
    assert of(compare).name == compare.fall.steps[0].label
    tree = cast(WhereTimeGoes, shown(WhereTimeGoes, (side,)))
    assert of(tree).name == "Share of the step" and of(tree).sum.endswith("= 100%")


@pytest.mark.parametrize("kind", [RegimeMap, Factory, FusionView])
def test_resting_on_a_picture_shows_it(shown: Any, side: Side, kind: type[View]) -> None:
    view = shown(kind, (side,))
    at = QPoint(view.width() // 2, view.height() // 2)
    event = QHelpEvent(QEvent.Type.ToolTip, at, view.mapToGlobal(at))
    QApplication.sendEvent(view, event)
    assert QToolTip.text() == of(view).text and "=" in QToolTip.text()
    QToolTip.hideText()

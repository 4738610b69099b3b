"""A picked op is marked on the timeline at each of its calls."""

from typing import Any

from app.answers.side import Side
from app.drawing import Box, Rectangle, Rectangles
from app.views.timeline.canvas import TimelineCanvas
from app.views.timeline.view import Timeline
from simulator.scenario.scenario import Scenario, predict


def test_all_calls_of_a_picked_op_are_marked(shown: Any) -> None:
    """LLaMA multiplies 161 times: a mark touches the pixel of each kernel, up to the last."""
    scenario = Scenario("llama3-8b", gpu="gb200", dtype="bf16")
    p = predict(scenario)
    view = shown(Timeline, (Side("A", "A", scenario, p),))
    view.pick(frozenset(i for i, op in enumerate(p.trace.ops) if op.name == "aten.mul.Tensor"))
    canvas: TimelineCanvas = view.canvas
    assert len(canvas.highlighted) == 161
    marks, x = _marks(canvas), canvas.frame.x
    for kernel in canvas.highlighted:
        at = x.at(float(p.schedule.start_s[kernel]))
        assert any(box.left - 2 <= at <= box.right + 2 for box in marks)
    # these kernels run for a tenth of the step, and a mark has at least one pixel
    assert sum(box.width for box in marks) < 0.4 * (x.end - x.begin)


def _marks(canvas: TimelineCanvas) -> list[Box]:
    """The marks in the row of the GPU."""
    marks: list[Box] = []
    for item in canvas.marked():
        if isinstance(item, Rectangle):
            marks.append(item.box)
        elif isinstance(item, Rectangles):
            marks += item.boxes
    row = canvas.frame.rows.gpu
    return [box for box in marks if row.top - 4 < box.top < row.bottom]

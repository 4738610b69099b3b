"""The views of the explorer, in the order in which they are offered."""

from __future__ import annotations

from app.views.compare import Compare
from app.views.factory import Factory
from app.views.fusion import FusionView
from app.views.lessons import Lessons
from app.views.measured import MeasuredView
from app.views.memory import MemoryView
from app.views.op_table import OpTable
from app.views.regime_map import RegimeMap
from app.views.roofline import Roofline
from app.views.sweep import Sweep
from app.views.timeline import Timeline
from app.views.view import View
from app.views.where_time_goes import WhereTimeGoes

VIEWS: tuple[type[View], ...] = (
    Roofline, Sweep, Timeline, WhereTimeGoes, OpTable, MemoryView, MeasuredView, RegimeMap,
    Compare, FusionView, Factory, Lessons,
)  # fmt: skip

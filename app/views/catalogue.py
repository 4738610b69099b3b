"""The views of the explorer, in the order in which they are offered."""

from __future__ import annotations

from app.views.combinations.view import Combinations
from app.views.compare.view import Compare
from app.views.factory.view import Factory
from app.views.fusion.view import FusionView
from app.views.lessons.view import Lessons
from app.views.measured import MeasuredView
from app.views.memory import MemoryView
from app.views.modules.view import WhereTimeGoes
from app.views.ops.view import OpTable
from app.views.regime_map.view import RegimeMap
from app.views.roofline.view import Roofline
from app.views.sweep.view import Sweep
from app.views.timeline.view import Timeline
from app.views.view import View

VIEWS: tuple[type[View], ...] = (
    Roofline, Sweep, Timeline, WhereTimeGoes, OpTable, MemoryView, MeasuredView, RegimeMap,
    Combinations, Compare, FusionView, Factory, Lessons,
)  # fmt: skip

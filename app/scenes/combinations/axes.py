"""The axes of combinations, with their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from app.answers.side import Side
from app.answers.sweeps.axes import line as line_of
from app.scenes.regime_map.axes import offered, place_on
from simulator.hardware.gpu import gpus
from simulator.scenario.gpu_class import traced_properties
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import DTYPES
from simulator.scenario.scenario import Value

_MODES = ("eager", "cuda_graph")
_SCALES: tuple[Value, ...] = (0.5, 1.0, 2.0, 4.0)
_USUAL_AXES, _MOST_CARDS, _FEW = 4, 6, 3
MOST_POINTS = 10_000
"""The largest number of combinations of a picture; with more, axes lose every other value."""


def usual(side: Side) -> list[str]:
    """The default axes of a side: batch, sequence, GPUs and modes; scales if these are too few."""
    axis_values = values(side)
    names = [name for name in ("batch", "seq", "gpu", "mode") if name in axis_values]
    return [*names, *("host_speed", "bandwidth")[: max(0, _USUAL_AXES - len(names))]]


def axes_of(side: Side, names: Sequence[str]) -> dict[str, list[Value]]:
    """Those of the named axes that the side has, with their values. Values are left out until there
    are at most `MOST_POINTS` combinations."""
    axis_values = values(side)
    axes = {name: axis_values[name] for name in names if name in axis_values}
    while prod(map(len, axes.values())) > MOST_POINTS:
        longest = max(axes, key=lambda name: len(axes[name]))
        place = place_on(side, longest)
        if len(axes[longest]) <= _FEW:
            axes[longest] = [place if place in axes[longest] else axes[longest][0]]
        else:
            axes[longest] = _with(axes[longest][::2], place)
    return axes


def values(side: Side) -> Mapping[str, list[Value]]:
    """Every axis of a side, with its values: batch and sequence by doublings, scales by factors,
    and choices."""
    names = offered(side)
    by_axis: dict[str, list[Value]] = {}
    for name in ("batch", "seq"):
        place = place_on(side, name)
        if name in names and place is not None:
            by_axis[name] = _with(list(line_of(side.scenario, name).values), place)
    same_ops_gpus = _cards(side) if "gpu" in names else []
    if len(same_ops_gpus) > 1:
        by_axis["gpu"] = same_ops_gpus
    if side.prediction.mode in _MODES:
        by_axis["mode"] = list(_MODES)
    if "precision" in names:
        by_axis["precision"] = list(DTYPES)
    for name in names:
        if name not in (*by_axis, "batch", "seq", "gpu", "mode", "precision"):
            by_axis[name] = _with(list(_SCALES), place_on(side, name))
    return by_axis


def _cards(side: Side) -> list[Value]:
    """The GPUs on which the network runs the same ops as on the side's GPU, so that no new trace is
    needed."""
    request, own = resolve(side.scenario).request, side.prediction.gpu
    cards = [card for card in gpus() if card.vendor == own.vendor]
    same: list[Value] = [
        card.id
        for card in cards
        if traced_properties(request.network, card) == traced_properties(request.network, own)
    ]
    shown = same[:_MOST_CARDS]
    return shown if own.id in shown or own.id not in same else [own.id, *shown[:-1]]


def _with(values: list[Value], own: Value | None) -> list[Value]:
    """The values with the side's own value; numbers are sorted."""
    all_values = values if own is None or own in values else [*values, own]
    numbers = [v for v in all_values if isinstance(v, int | float)]
    return [*sorted(numbers)] if len(numbers) == len(all_values) else all_values

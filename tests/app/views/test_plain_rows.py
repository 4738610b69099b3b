"""The CSV of a chart has numbers in SI units, exact enough to compute with."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from app.answers.side import Side
from app.explorer.docks.table_dialog import write_csv
from app.views.combinations.view import Combinations
from app.views.compare.view import Compare
from app.views.memory import MemoryView
from app.views.ops.view import OpTable
from app.views.regime_map.view import RegimeMap
from app.views.sweep.view import Sweep
from app.widgets.view import View
from simulator.scenario.scenario import Scenario, predict


def exported(view: View, folder: Path) -> list[dict[str, str]]:
    path = folder / "chart.csv"
    write_csv(view, path)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_sweep(shown: Any, side: Side, variant: Side, tmp_path: Path) -> None:
    rows = exported(shown(Sweep, (side, variant)), tmp_path)
    assert {row["Side"] for row in rows} == {"A", "B"}
    own = next(row for row in rows if (row["Side"], row["Batch"]) == ("A", "32"))
    p = side.prediction
    assert float(own["Time (s)"]) == pytest.approx(p.period_s, rel=1e-9)
    interval = [float(own[f"Interval {end} (s)"]) for end in ("from", "to")]
    assert interval == pytest.approx(p.interval_s, rel=1e-9)
    assert float(own["Memory at the peak (B)"]) == p.peak_memory_bytes + p.workspace_bytes
    shares = {regime: float(own[f"{regime.capitalize()} (share)"]) for regime in p.shares}
    assert shares == pytest.approx(p.shares, abs=1e-9)
    assert own["Bound by"] == p.regime and own["Fits"] == "yes"
    last = rows[-1]
    largest = predict(Scenario("mlp-tiny", batch=int(last["Batch"])))
    assert float(last["Time (s)"]) == pytest.approx(largest.period_s, rel=1e-9)


def test_a_regime_map(shown: Any, side: Side, tmp_path: Path) -> None:
    view = shown(RegimeMap, (side,), size=(1200, 600))
    rows = exported(view, tmp_path)
    assert view.chart is not None
    assert len(rows) == len(view.chart.x.values) * len(view.chart.y.values)
    head = list(rows[0])
    here = next(row for row in rows if [row[head[0]], row[head[1]]] == ["32", "1"])
    assert float(here["Time (s)"]) == pytest.approx(side.prediction.period_s, rel=1e-9)
    assert here["No answer because"] == ""


def test_points_of_a_map_without_an_answer_say_why(
    shown: Any, side: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = shown(RegimeMap, (side,), size=(1200, 600))
    monkeypatch.setattr(type(view.chart), "why", lambda chart, spot: "too large")
    rows = exported(view, tmp_path)
    assert {row["No answer because"] for row in rows} == {"too large"}
    assert {row["Time (s)"] for row in rows} == {""}


def test_combinations(shown: Any, side: Side, tmp_path: Path) -> None:
    view = shown(Combinations, (side,), size=(1000, 500))
    rows = exported(view, tmp_path)
    table = view.canvas.table
    assert len(rows) == len(table)
    times = next(column for column in table.columns if column.name == "Time").values
    assert [float(row["Time (s)"]) for row in rows] == pytest.approx(times.tolist(), rel=1e-9)
    assert {float(row["Memory needed (B)"]) > 1e6 for row in rows} == {True}


def test_ops(shown: Any, side: Side, tmp_path: Path) -> None:
    rows = exported(shown(OpTable, (side,)), tmp_path)
    assert sum(float(row["Time (s)"]) for row in rows) == pytest.approx(
        side.prediction.gpu_busy_s, rel=1e-4
    )


def test_a_comparison(shown: Any, side: Side, variant: Side, tmp_path: Path) -> None:
    """Regression: the CSV had texts such as "1.77 ms", "+79%" and "1,029"."""
    rows = exported(shown(Compare, (side, variant), 1, size=(1200, 700)), tmp_path)
    a, b = side.prediction, variant.prediction
    by_name = {(row["Kind"], row["Name"]): row for row in rows}
    step = by_name["step", ""]
    times = [float(step[head]) for head in ("A (s)", "B (s)", "Change (s)")]
    assert step["Change (s)"].startswith("-0.000")  # without an apostrophe
    assert times == pytest.approx([a.period_s, b.period_s, b.period_s - a.period_s], rel=1e-9)
    interval = by_name["80% interval", "B"]
    ends = [float(interval[f"Interval {end} (s)"]) for end in ("from", "to")]
    assert ends == pytest.approx(b.interval_s, rel=1e-9)
    change = by_name["change", "batch 32 → 4,096"]
    assert float(change["Alone (s)"]) == pytest.approx(b.period_s - a.period_s, rel=1e-9)
    memory, flops = by_name["count", "Memory"], by_name["count", "FLOPs"]
    assert float(memory["B (B)"]) == b.peak_memory_bytes + b.workspace_bytes
    assert [float(flops[f"{x} (FLOP)"]) for x in "AB"] == [a.flops, b.flops]
    assert by_name["count", "Kernels"]["A (count)"] == str(a.kernel_count)
    assert float(by_name["count", "GPU busy"]["B (s)"]) == pytest.approx(b.gpu_busy_s, rel=1e-9)
    whole = next(row for row in rows if row["Kind"].startswith("regime"))
    assert (whole["Regime in A"], whole["Regime in B"]) == (a.regime, b.regime)
    numeric = [head for head in rows[0] if head.endswith(")")]
    assert numeric and all(not row[h] or float(row[h]) is not None for row in rows for h in numeric)


def test_a_view_without_plain_rows_writes_its_table(shown: Any, side: Side, tmp_path: Path) -> None:
    view = shown(MemoryView, (side,))
    heads, *body = view.rows()
    assert [list(row.values()) for row in exported(view, tmp_path)] == body
    assert heads and side.scenario == Scenario("mlp-tiny")

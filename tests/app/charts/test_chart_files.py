"""Files of charts: complete, in their theme, and with the required words."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("PySide6.QtWidgets")

from app.scenes.field import _depth, across, fine, middle
from app.scenes.ticks import choice_ticks, decade_ticks, factor_ticks, linear_ticks
from app.theme import THEMES
from app.widgets.patterns import mark_path

Run = Callable[..., Any]

COMMANDS = {
    "sweep": (["--over", "batch=1:65536", "--with", "+cuda_graph"],
              ["Step time", "Share of time", "Batch, samples", "overhead", "+cuda_graph"]),
    "map": (["--x", "batch=1:65536:5", "--y", "host_speed=0.5:2:3"],
            ["Overhead-bound", "Host speed, ×", "Batch, samples"]),
    "whatif": (["+cuda_graph", "+precision=fp16"],
               ["+cuda_graph", "+precision=fp16", "Step time", "baseline", "80% interval"]),
    "compare": (["--with", "+cuda_graph"], ["A  mlp-tiny", "B  +cuda_graph", "per step"]),
    "advise": (["--top", "3"], ["+cuda_graph", "end to end", "a step"]),
    "seek": (["--out-of-overhead"], ["Smallest batch that is not overhead-bound", "Share of time"]),
}  # fmt: skip


@pytest.mark.parametrize("name", list(COMMANDS))
@pytest.mark.parametrize("look", list(THEMES))
def test_each_command_draws(run: Run, tmp_path: Path, name: str, look: str) -> None:
    from PySide6.QtGui import QColor, QImage

    options, words = COMMANDS[name]
    png, svg = tmp_path / "p.png", tmp_path / "p.svg"
    result = run(name, "mlp-tiny", *options, "--png", png, "--svg", svg, "--theme", look)
    assert result.exit_code == 0, result.output
    assert sorted(f.name for f in tmp_path.iterdir()) == ["p.png", "p.svg"]
    image = QImage(str(png))
    assert image.width() >= 1400 and image.height() >= 400
    assert image.pixelColor(2, 2) == QColor(THEMES[look].bg1)
    text = svg.read_text("utf-8")
    written = re.sub(r"&#\d+;|&\w+;", " ", " | ".join(re.findall(r"<text[^>]*>([^<]*)<", text)))
    for word in words:
        assert word in written, (word, written)
    assert "<script" not in text


def test_a_picture_holds_every_regime_that_it_shows(run: Run, tmp_path: Path) -> None:
    from PySide6.QtGui import QImage

    png = tmp_path / "p.png"
    assert run("sweep", "mlp-tiny", "--over", "batch=1:1048576", "--png", png).exit_code == 0
    image = QImage(str(png))
    seen = {
        image.pixelColor(x, y).name().upper()
        for x in range(0, image.width(), 2)
        for y in range(image.height() // 2, image.height(), 2)
    }
    assert THEMES["dark"].compute.fill in seen and THEMES["dark"].overhead.fill in seen


def test_a_cause_is_broken_into_lines_and_never_cut(run: Run, tmp_path: Path) -> None:
    from app.charts.advice import wrapped
    from app.drawing import TABULATED

    text = " ".join(f"memory{i}" for i in range(40))
    lines = wrapped(text, 400, TABULATED)
    assert len(lines) > 2 and " ".join(lines) == text
    assert all(TABULATED.width(line) <= 400 for line in lines)
    svg = tmp_path / "p.svg"
    assert run("advise", "mlp-tiny", "--svg", svg).exit_code == 0
    assert "…" not in svg.read_text("utf-8")


def test_without_qt_a_png_names_the_package_and_an_svg_is_drawn(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr("app.widgets.qt_installed.import_module", missing)
    result = run("advise", "mlp-tiny", "--png", tmp_path / "p.png")
    assert result.exit_code == 2 and result.stderr == (
        "error: a PNG needs PySide6: No module named 'PySide6.QtWidgets': expected an installed "
        'PySide6; pip install "ridgepoint[gui]", or use --svg\n'
    )
    assert run("advise", "mlp-tiny", "--svg", tmp_path / "p.svg").exit_code == 0


def test_accuracy_is_drawn_from_outcomes() -> None:
    from app.charts.accuracy import accuracy_page
    from app.drawing import TABULATED, Line, Marker, Path, Pill, Text
    from simulator.hardware.gpu import gpu

    step = {"figure": "period", "flops": 0, "bytes": 0, "group": "training, eager"}
    call = {"figure": "call", "ratio": 1.0, "group": "single ops, cold"}
    graph = {**step, "group": "inference, CUDA graph", "measured_s": 1e-2, "ratio": 0.5}
    rows = [
        *({**step, "measured_s": 1e-3 * 10**i, "ratio": 1.1} for i in range(3)),
        graph,
        {**graph, "group": "H100 with its own profile, CUDA graph"},
        {**call, "flops": 1e12, "bytes": 1e9, "measured_s": 2e-3},
        {**call, "flops": 1e9, "bytes": 1e9, "measured_s": 5e-4},
        {**call, "flops": 1e9, "bytes": 1e9, "measured_s": 2e-4},  # 5 TB/s
        {**call, "flops": 1, "bytes": 1e9, "measured_s": 5e-4},
    ]
    rows.append({**rows[-2], "group": "H100 with its own profile, single ops, cold"})
    page = accuracy_page(rows, gpu("h200"), TABULATED)
    about = page.items[1]
    assert isinstance(about, Text)
    assert about.words == "4 periods of steps and 3 calls on an H200 SXM 141GB, none of them fitted"
    titles = [i.words for i in page.items if isinstance(i, Text)]
    for title in (
        "Steps: predicted and measured time",
        "Measured time of a step",
        "Predicted time of a step",
        "Single calls with cold caches: measured FLOP/s",
        "Intensity, FLOP per byte",
        "Measured FLOP/s of a call",
    ):
        assert titles.count(title) == 1
    keys = [i.text.words for i in page.items if isinstance(i, Pill)]
    assert keys == [
        "inference, CUDA graph",
        "training, eager",
        "15% too long or too short",
        "data-sheet roof: 4.80 TB/s, 1.98 PFLOP/s in fp8",
        "bandwidth is the lower roof",
        "FLOP/s are the lower roof",
        "1 above the roof",
    ]
    calls = [i for i in page.items if isinstance(i, Marker)]
    assert [m.regime for m in calls] == ["compute", "memory", "memory", "memory", "compute"]
    paths = [i for i in page.items if isinstance(i, Path)]
    # three steps, a graph, and the two entries of the key: a circle of 20 corners, a diamond of 4
    looks = [(len(i.steps), i.fill) for i in paths]
    circle, diamond = (21, "danger"), (5, "b")
    assert looks == [circle, circle, circle, diamond, diamond, circle]
    tops = [i.steps[0] for i in paths]
    marks = [Marker(top[1], top[2] + 4) for top in tops if len(top) == 3]
    equal = next(i for i in page.items if isinstance(i, Line) and i.width == 2.4)
    (x0, y0), (x1, y1) = equal.points  # the diagonal, where predicted equals measured
    for mark in marks[:3]:
        # predicted 10% too long: above the diagonal
        assert mark.y < y0 + (y1 - y0) * (mark.x - x0) / (x1 - x0)


def test_ticks() -> None:
    assert factor_ticks(1, 16) == [(0, "1"), (1, "2"), (2, "4"), (3, "8"), (4, "16")]
    assert [label for _, label in factor_ticks(1, 2**20, 5)] == [
        "1",
        "32",
        "1,024",
        "32,768",
        "1,048,576",
    ]
    assert [label for _, label in decade_ticks(0.3, 30)] == ["0.5", "1", "2", "5", "10", "20"]
    assert linear_ticks(0, 8.2) == [0, 2, 4, 6, 8]
    assert choice_ticks(["a", "b"]) == [(0, "a"), (1, "b")]


def test_a_field_between_its_points() -> None:
    import numpy as np

    from app.answers.sweeps.axes import line
    from simulator.scenario.scenario import Scenario

    tiny = Scenario("mlp-tiny")
    x, y = across(line(tiny, "batch=1,4")), across(line(tiny, "gpu=h200,l4"))
    grid = np.array([[0.0, 2.0], [1.0, np.nan]])
    finer = fine(grid, x, y)
    assert x.smooth and not y.smooth
    assert finer[0, 0] == pytest.approx(0, abs=0.01) and finer[0, -1] == pytest.approx(2, abs=0.01)
    assert finer[0, finer.shape[1] // 2] == pytest.approx(1, abs=0.01)  # batch 2: √(1 · 4)
    assert np.isnan(finer[1]).all() and np.isfinite(finer[0]).all()
    assert middle(np.zeros((4, 4), bool), x, y) is None


def test_marks_have_equal_areas() -> None:
    from math import pi

    circle = mark_path("memory").boundingRect()
    square = mark_path("overhead").boundingRect()
    triangle = mark_path("compute").boundingRect()
    areas = (
        pi * circle.width() ** 2 / 4,
        square.width() * square.height(),
        triangle.width() * triangle.height() / 2,
    )
    assert areas == pytest.approx([pi] * 3, rel=0.01)


def test_a_cells_depth_is_its_distance_to_the_nearest_outside():
    inside = np.random.default_rng(1).random((7, 9)) < 0.9
    padded = np.pad(inside, 1)
    outside = np.argwhere(~padded)
    for row, column in np.argwhere(padded):
        away = (outside - (row, column)) * (0.3, 0.7)
        nearest = float((away**2).sum(axis=1).min())
        depth = _depth(inside, 0.3, 0.7)[row - 1, column - 1]
        assert abs(depth - nearest) < 1e-12

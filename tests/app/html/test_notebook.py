"""A prediction shows itself in a notebook."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from app.quantities import percent, seconds
from app.theme import THEMES
from simulator.errors import InputError
from simulator.prediction import REGIMES, Prediction

GROUP = "ridgepoint.notebook"
PROJECT = Path(__file__).parents[3] / "pyproject.toml"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The entry points of `pyproject.toml`, instead of those of the installed package."""
    named = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["entry-points"][GROUP]
    points = EntryPoints(EntryPoint(name, value, GROUP) for name, value in named.items())

    def entry_points(**of: Any) -> EntryPoints:
        return points.select(**of)

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    yield


@pytest.mark.usefixtures("installed")
def test_the_verdict_is_an_element_of_a_page(tiny_prediction: Prediction) -> None:
    p = tiny_prediction
    shown = p._repr_html_()
    assert shown is not None and len(shown) < 20_000
    assert shown.strip().startswith('<div class="ridgepoint">') and shown.strip().endswith("</div>")
    assert "<h1>step, batch 32, fp32, inference on NVIDIA H200 SXM 141GB</h1>" in shown
    low, high = p.interval_s
    for words in (seconds(p.period_s), f"80% interval: {seconds(low)} to {seconds(high)}"):
        assert words in shown
    for regime in REGIMES:
        assert percent(p.shares[regime]) in shown
    assert not re.search(r"<script|https?:|@import|url\(", shown)


@pytest.mark.usefixtures("installed")
def test_its_style_stays_inside_and_knows_both_themes(tiny_prediction: Prediction) -> None:
    style = re.search(r"<style>(.*)</style>", tiny_prediction._repr_html_() or "", re.S)
    assert style
    outside = re.sub(r"\{(?:[^{}]|\{[^{}]*\})*\}", "", style[1])
    assert " ".join(outside.split()) == (
        '.ridgepoint body[data-jp-theme-light="false"] .ridgepoint, body.vscode-dark .ridgepoint'
    )
    light, dark = style[1].split("body[data-jp-theme-light")
    for part, theme in ((light, THEMES["light"]), (dark, THEMES["dark"])):
        assert f"--bg1: {theme.bg1};" in part
    used = set(re.findall(r"var\(--([\w-]+)\)", tiny_prediction._repr_html_() or ""))
    assert used <= set(re.findall(r"--([\w-]+):", light))


@pytest.mark.usefixtures("installed")
def test_pictures_are_svg(tiny_prediction: Prediction) -> None:
    for picture, theme in (("roofline", "light"), ("Timeline", "dark")):
        figure = tiny_prediction.plot(picture, theme=theme, width=640)
        root = ElementTree.fromstring(figure._repr_svg_())
        assert root.attrib["width"] == "640" and figure.svg == figure._repr_svg_()
        assert THEMES[theme].bg1 in figure.svg


@pytest.mark.usefixtures("installed")
def test_another_picture_or_theme_is_refused(tiny_prediction: Prediction) -> None:
    with pytest.raises(InputError) as refused:
        tiny_prediction.plot("pie")
    assert str(refused.value).startswith(
        "unknown picture 'pie': expected one of roofline, timeline"
    )
    with pytest.raises(InputError) as refused:
        tiny_prediction.plot(theme="blue")
    assert str(refused.value) == "unknown theme 'blue': expected dark or light"


def test_without_the_app_a_prediction_is_one_line(
    tiny_prediction: Prediction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **of: EntryPoints())
    p = tiny_prediction
    assert p._repr_html_() is None
    assert repr(p) == (
        f"Prediction(period_s={p.period_s:.4g}, interval_s=({p.interval_s[0]:.4g}, "
        f"{p.interval_s[1]:.4g}), regime='overhead', gpu='h200_sxm', mode='eager')"
    )
    with pytest.raises(InputError) as refused:
        p.plot()
    assert str(refused.value) == (
        "cannot plot the roofline: no installed package draws predictions: expected ridgepoint; "
        "install it with pip"
    )

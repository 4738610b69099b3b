"""A plan outside of its page: a candidate opens on another page, and files and sessions contain the
plan."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData
from PySide6.QtWidgets import QFileDialog

from app.answers.cluster.choice import ClusterChoice
from app.answers.plan.draft import of_table
from app.answers.plan.scenario_draft import of_scenario
from app.explorer.state import session_file
from app.explorer.window.window import Window
from simulator.planning import Row
from simulator.scenario.scenario import Scenario
from tests.app.explorer.waiting import wait
from tests.app.explorer.window.conftest import SMALL_PLAN
from tests.app.explorer.window.plan_driver import answer, settled


def _opened(window: Window, precision: str) -> Window:
    """Open a replica of two H200s in this precision, as when it is the chosen candidate."""
    page = window.pages.plan
    row = Row("h200_sxm", "H200 SXM 141GB", 4, "vllm", precision, "fits", split=2, batch=7.6)
    planned = replace(page.planning.planned, rows=(row,), chosen=None)
    page.planning.planned = planned
    answer(window).show_plan(planned)
    answer(window).open.click()
    return window


def test_a_replica_over_several_gpus_opens_on_the_cluster_page(planned: Window):
    state = _opened(planned, "bf16").session.state
    assert answer(planned).open.text() == "Open in Cluster"
    assert state.workspace == "Cluster"
    assert state.cluster == ClusterChoice("2xh200_sxm", tp=2)
    assert state.scenario.batch == 8 and "ranks" not in state.scenario.sizes
    assert (
        state.sides[-1].name
        == "4 × H200 SXM 141GB as 2 replicas of tp=2, vllm, bf16: PyTorch's kernels"
    )


def test_a_precision_that_cluster_does_not_predict_opens_as_one_rank(planned: Window):
    state = _opened(planned, "fp8").session.state
    assert answer(planned).open.text() == "Open in Explore"
    assert (state.workspace, state.scenario.sizes["ranks"]) == ("Explore", 2)
    assert state.sides[-1].name == (
        "4 × H200 SXM 141GB as 2 replicas of tp=2, vllm, fp8: PyTorch's kernels, one of 2 GPUs, no "
        "collectives"
    )


def test_the_plan_of_a_session_without_one_follows_its_scenario(window: Window):
    session, page = window.session, window.pages.plan
    session.reset(replace(session.state, plan=""))
    assert page.planning.planned.draft.get("workload", "network") == "bert-base"
    session.set_scenario(Scenario("resnet18", training=True), "resnet18")
    assert page.text == of_scenario(session.state.scenario).text
    assert not page.planning.busy
    page.planning.watch(True)
    assert page.planning.planned.draft.text == page.text and page.planning.busy
    page.planning.cancel()
    page.planning.watch(False)
    assert session.state.plan == ""


def test_a_plan_stays_when_a_candidate_of_it_is_opened(planned: Window):
    session, page = planned.session, planned.pages.plan
    session.reset(replace(session.state, plan="", workspace="Plan"))
    page.planning.cancel()
    page.planning.planned = replace(page.planning.planned, stale=False, error="")
    shown = page.text
    assert _opened(planned, "bf16").session.state.plan == shown == page.text


def test_the_report_of_a_plan_is_written(planned: Window, tmp_path: Path, monkeypatch: Any):
    path = tmp_path / "mine.html"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path)[:-5], ""))
    answer(planned).report.click()
    wait(planned.worker)
    text = path.read_text("utf-8")
    assert "The queue of 1 × L40S, vllm, bf16" in text and "Cost against speed" in text
    assert planned.banner.label.text() == f"Wrote {path}"
    planned.banner.hide()


def test_a_plan_is_saved_and_opened(planned: Window, tmp_path: Path, monkeypatch: Any):
    path = tmp_path / "mine.toml"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path)[:-5], ""))
    next(a for a in planned.actions() if a.text() == "Save plan …").trigger()
    assert path.read_text("utf-8") == planned.pages.plan.text
    assert planned.banner.label.text() == f"Wrote {path}"
    planned.pages.plan.edit(planned.pages.plan.planning.planned.draft.of_kind("inference"), "x")
    planned.session.show("Explore")
    data = QMimeData()
    data.setText("x")
    planned.opening.open([path])
    assert planned.session.state.workspace == "Plan"
    assert planned.pages.plan.text == of_table(SMALL_PLAN).text
    (tmp_path / "wrong.toml").write_text('[workload]\nkind = "serving"\n', "utf-8")
    planned.opening.open([tmp_path / "wrong.toml"])
    assert planned.banner.label.text() == (
        "workload.network is missing: expected a value; add it under [workload]"
    )
    assert planned.pages.plan.text == of_table(SMALL_PLAN).text


def test_a_session_holds_its_plan(planned: Window, tmp_path: Path):
    path = tmp_path / "one.ridge"
    session_file.save(path, planned.session.state)
    state, _ = session_file.load(path)
    assert state.plan == of_table(SMALL_PLAN).text
    path.write_text(path.read_text("utf-8").replace("50 ms", "50 parsecs"), "utf-8")
    with pytest.raises(session_file.InputError, match="unknown unit 'parsecs'"):
        session_file.load(path)


def test_a_plan_report_needs_a_plan(planned: Window):
    write, export = (
        planned.shortcuts.actions[name] for name in ("Write plan report …", "Export report …")
    )
    assert write.isEnabled() and not export.isEnabled()
    planned.pages.plan.edit(of_table({**SMALL_PLAN, "load": {"rate": "7/s"}}), "load")
    assert not write.isEnabled() and write.toolTip() == "There is no plan yet"
    settled(planned.pages.plan.planning)
    assert write.isEnabled()

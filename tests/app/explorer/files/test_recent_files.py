""" "Open recent" lists the files that were opened, without those that cannot be opened."""

import json
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMenu

from app.explorer.files.opening import Opening
from app.explorer.state.incoming import identify
from simulator.cluster.cluster import FOLDER as CLUSTERS
from simulator.errors import InputError
from simulator.formats import trace_file
from simulator.hardware.host import FOLDER as HOSTS
from simulator.scenario.scenario import Scenario, predict
from tests.app.explorer.files.settling import run_it, settle

TRACES = Path(__file__).parents[3] / "simulator" / "profiler_traces"


def recent(opening: Opening) -> list[str]:
    menu = QMenu()
    opening.fill_recent(menu)
    return [action.text() for action in menu.actions()]


def test_json_files_that_cannot_be_opened_are_not_recent(opening: Opening, tmp_path: Path):
    """The files fail only when their contents are read, in the background."""
    texts = {
        "notes.json": '{"a": 1}',
        "half.rpt.json": "{",
        "empty.json": '{"schemaVersion": 1, "traceEvents": []}',
        "broken.json": '{"traceEvents": [',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
        opening.banner.hide()
        opening.open([tmp_path / name])
        settle(opening)
        assert not opening.banner.isHidden() and name in opening.banner.label.text()
        assert recent(opening) == ["No recent files"], name


def test_a_file_that_broke_since_leaves_the_menu(opening: Opening, tmp_path: Path):
    path = tmp_path / "step.rpt.json"
    trace_file.save(predict(Scenario("mlp-tiny")).trace, path)
    opening.open([path])
    settle(opening)
    assert recent(opening) == [path.name]
    path.write_text("{", "utf-8")
    opening.open([path])
    settle(opening)
    assert recent(opening) == ["No recent files"]


def test_code_is_recent_once_it_ran(opening: Opening, tmp_path: Path):
    path = tmp_path / "wrong.py"
    path.write_text("import no_such_module\n", "utf-8")
    opening.open([path])
    assert recent(opening) == ["No recent files"]  # the banner still asks whether to run it
    run_it(opening)
    assert "no_such_module" in opening.banner.label.text()
    assert recent(opening) == ["No recent files"]


def test_a_profilers_trace_is_recent_once_overlaid(opening: Opening, tmp_path: Path):
    path = tmp_path / "step.json.gz"
    path.write_bytes((TRACES / "mlp-tiny.json.gz").read_bytes())
    opening.open([path])
    settle(opening)
    assert recent(opening) == [path.name]


def test_a_host_and_a_cluster_are_opened(opening: Opening, tmp_path: Path):
    """A host's file changes the scenario; a cluster's shows the page of the cluster."""
    host = tmp_path / "mine.json"
    fields = json.loads((HOSTS / "xeon-h100.json").read_text("utf-8"))
    host.write_text(json.dumps({**fields, "id": "mine"}), "utf-8")
    cluster = tmp_path / "two.toml"
    cluster.write_text((CLUSTERS / "16xh100-ib.toml").read_text("utf-8"), "utf-8")
    assert [identify(path).kind for path in (host, cluster)] == ["host", "cluster"]
    session = opening.session
    opening.open([host, cluster])
    settle(opening)
    assert session.state.scenario.host == str(host)
    assert session.state.workspace == "Cluster"
    assert session.state.cluster is not None
    assert session.state.cluster.cluster == str(cluster) and session.state.cluster.dp == 16
    assert recent(opening) == [cluster.name, host.name]
    session.history.undo()
    assert session.state.cluster is None and session.state.workspace == "Explore"
    host.write_text('{"version": 2, "id": "x", "cpu": "y"}', "utf-8")
    cluster.write_text('nodes = 2\nname = "n"', "utf-8")
    for path, words in ((host, "not a valid host profile"), (cluster, "correct the key")):
        opening.banner.hide()
        opening.open([path.rename(path.with_stem("wrong"))])
        assert words in opening.banner.label.text() and "wrong" in opening.banner.label.text()


def test_a_dropped_folder_is_refused_as_a_folder(tmp_path: Path):
    with pytest.raises(InputError, match="it is a folder; choose another"):
        identify(tmp_path)

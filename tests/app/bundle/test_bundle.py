"""The bundle, built and started in an empty folder without Python's environment."""

import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from app.explorer.state.session import NamedScenario, State
from app.explorer.state.session_file import save
from simulator.planning.spec_link import spec_link
from simulator.scenario.scenario import Scenario
from simulator.scenario.text.link import scenario_link
from tests.app.plan_text import PLAN

HERE = Path(__file__).parents[3]
MOST_MB = 250
LEFT_OUT = ("torch", "scipy", "libQt6Quick", "libQt6Qml", "libQt6Pdf", "libQt6WebEngine", "libgtk")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("PyInstaller") is None or sys.platform != "linux",
        reason="PyInstaller is not installed: pip install -e .[bundle]",
    ),
]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    folders = ["--distpath", str(folder / "dist"), "--workpath", str(folder / "build")]
    options = ["--noconfirm", "--log-level", "ERROR", *folders]
    command = [sys.executable, "-m", "PyInstaller", *options, "app/bundle/ridgepoint.spec"]
    built = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder / "dist" / "ridgepoint"


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment whose home is an empty folder, without a screen."""
    return {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "COLUMNS": "100",
        "QT_QPA_PLATFORM": "offscreen",
        "RIDGEPOINT_STATE": str(tmp_path / "state"),
    }


def ran(bundle: Path, bare: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(bundle / "ridgepoint"), *arguments]
    return subprocess.run(command, env=bare, cwd=bare["HOME"], capture_output=True, text=True)


def test_it_is_small_and_has_no_torch(bundle: Path) -> None:
    files = [path for path in bundle.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_size for path in files) < MOST_MB * 1e6
    inside = [path.relative_to(bundle / "_internal") for path in files if path.parent != bundle]
    for name in LEFT_OUT:
        assert not [path for path in inside if path.name.startswith(name)], name
        assert not [path for path in inside if path.parts[0].startswith(name)], name


@pytest.mark.parametrize(
    "arguments",
    [
        "predict bert-base --batch 8 --seq 128 --dtype bf16",
        "predict gpt2 --train --mode compiled",
        "sweep vit-b16 --dtype bf16",
        f"predict {scenario_link(Scenario('resnet50', batch=16))}",
        f"plan {spec_link(PLAN)}",
    ],
)
def test_it_answers_as_the_command_does(bundle: Path, bare: dict[str, str], arguments: str) -> None:
    from_bundle = ran(bundle, bare, *arguments.split())
    command = [sys.executable, "-m", "app.cli", *arguments.split()]
    environment = os.environ | {"COLUMNS": bare["COLUMNS"]}
    from_source = subprocess.run(command, cwd=HERE, capture_output=True, text=True, env=environment)
    assert from_bundle.returncode == 0, from_bundle.stderr
    # the trace names the version of torch that wrote it
    assert from_bundle.stdout.splitlines()[:10] == from_source.stdout.splitlines()[:10]


def test_a_network_of_one_s_own_names_torch(bundle: Path, bare: dict[str, str]) -> None:
    nets = Path(bare["HOME"]) / "nets.py"
    nets.write_text("import torch\n", "utf-8")
    refused = ran(bundle, bare, "predict", "nets.py:make")
    assert refused.returncode == 2
    assert refused.stderr.startswith(
        "error: this step must be traced, which needs torch, and this bundle does not contain "
    )
    opened = ran(bundle, bare, "-m", "app.explorer.background.factories", str(nets))
    assert json.loads(opened.stdout)["refused"] == (
        "nets.py needs torch, which this bundle does not contain: expected a built-in network or "
        'a saved trace; for networks of your own: pip install "ridgepoint[gui]"'
    )


def test_the_explorer_opens_a_session(bundle: Path, bare: dict[str, str]) -> None:
    talk = Path(bare["HOME"]) / "talk.ridge"
    save(talk, State((NamedScenario("Today", Scenario("gpt2", batch=4)),)))
    settings = Path(bare["RIDGEPOINT_STATE"]) / "explorer.json"
    command = [str(bundle / "ridgepoint"), "explore", str(talk)]
    with subprocess.Popen(command, env=bare, cwd=bare["HOME"], stderr=subprocess.PIPE) as window:
        end_s = time.monotonic() + 60
        while not settings.exists() and window.poll() is None and time.monotonic() < end_s:
            time.sleep(0.05)
        time.sleep(3)  # while the explorer predicts and draws
        assert window.poll() is None
        assert json.loads(settings.read_text("utf-8"))["recent"] == [str(talk)]
        os.kill(window.pid, 15)
        assert window.stderr is not None
        messages = set(window.stderr.read().decode().splitlines())
        assert messages <= {"This plugin does not support propagateSizeHints()"}

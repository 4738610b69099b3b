"""One small prediction, and the command line in this process."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.answers.subject import Scenario, Subject, predict, subject
from app.cli import app
from simulator.formats.trace_file import save
from simulator.prediction import Prediction
from simulator.scenario import trace_source

Run = Callable[..., Any]


@pytest.fixture(autouse=True, scope="module")
def _traced_here() -> Iterator[None]:
    """A worker leaves tracing to its child process; whatever test comes next traces by itself."""
    yield
    trace_source.trace_elsewhere(False)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="session")
def tiny() -> Subject:
    return subject(Scenario("mlp-tiny"))


@pytest.fixture(scope="session")
def tiny_prediction(tiny: Subject) -> Prediction:
    return predict(Scenario("mlp-tiny"), tiny)


@pytest.fixture(scope="session")
def saved(tiny: Subject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "tiny.rpt.json"
    save(tiny.trace, path)
    return path

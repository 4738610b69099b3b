"""One small prediction, and the command line in this process."""

import csv
import io
import json
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


def stdout(result: Any) -> str:
    """The output of a command that succeeded, without spaces at the ends of lines."""
    assert result.exit_code == 0, result.output
    return "\n".join(line.rstrip() for line in result.stdout.splitlines())


def table(result: Any) -> str:
    """The output of a command, within 80 columns."""
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    return result.stdout


def document(run: Run, *arguments: object) -> Any:
    """The JSON document that a command prints."""
    return json.loads(stdout(run(*arguments, "--json", "-")))


def csv_rows(run: Run, *arguments: object) -> list[dict[str, str]]:
    """The rows that a command prints as CSV."""
    result = run(*arguments, "--csv", "-")
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


@pytest.fixture(autouse=True, scope="module")
def _traced_here() -> Iterator[None]:
    """Restore tracing in this process, which a worker delegates to its child process."""
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

"""`ridgepoint sweep --into`: designs of several axes, their files, and one message where they
have none."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.app.conftest import stdout

Run = Callable[..., Any]
AXES = ("--over", "gpu=h100,h200", "--over", "batch=1,8", "--workers", "1")
DESIGN = """
[scenario]
network = "mlp-tiny"
[axes]
gpu = ["h100", "h200"]
batch = "1:4"
whatifs = ["none", "+cuda_graph"]
"""


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "rows"


def message(result: Any) -> str:
    """The one message of a command that ended with status 2."""
    assert result.exit_code == 2, result.output
    assert result.stderr.count("error:") == 1 and "Traceback" not in result.stderr
    return " ".join(result.stderr.removeprefix("error: ").split())


def test_all_combinations_are_predicted(run: Run, into: Path, tmp_path: Path):
    out = tmp_path / "rows.csv"
    text = " ".join(stdout(run("sweep", "mlp-tiny", *AXES, "--into", into, "--csv", out)).split())
    assert text.startswith(f"4 rows in {into}, 4 with an answer most samples a second: ")
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(r["gpu"], r["batch"]) for r in rows] == [
        ("h100", "1"), ("h100", "8"), ("h200", "1"), ("h200", "8"),
    ]  # fmt: skip
    assert all(float(r["period_s"]) > 0 and r["refused"] == "" for r in rows)
    assert rows[0]["regime"] in ("compute", "memory", "overhead")


def test_the_same_command_again_adds_nothing(run: Run, into: Path):
    first = stdout(run("sweep", "mlp-tiny", *AXES, "--into", into))
    before = into.read_bytes()
    assert stdout(run("sweep", "mlp-tiny", *AXES, "--into", into)) == first
    assert into.read_bytes() == before


def test_a_design_comes_from_a_file(run: Run, into: Path, tmp_path: Path):
    design = tmp_path / "design.toml"
    design.write_text(DESIGN)
    text = stdout(run("sweep", design, "--into", into, "--workers", "1", "--csv", "-"))
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 2 * 2 * 3
    assert [r["batch"] for r in rows[:3]] == ["1", "2", "4"]
    assert [r["whatifs"] for r in rows[2:4]] == ["none", "'+cuda_graph"]


def test_an_axis_named_as_a_figure_has_a_column_of_its_own(run: Run, into: Path):
    """`memory` is the share of memory in the step, and a what-if on the card's capacity."""
    result = run(
        "sweep", "mlp-tiny", "--over", "memory=0.5,2", "--into", into, "--workers", 1, "--csv", "-"
    )
    rows = list(csv.DictReader(stdout(result).splitlines()))
    assert [r["'+memory"] if "'+memory" in r else r["+memory"] for r in rows] == ["0.5", "2.0"]
    assert 0 <= float(rows[0]["memory"]) <= 1


def test_combinations_without_an_answer_are_named(run: Run, into: Path):
    text = stdout(run("sweep", "gpt2", "--over", "seq=1024,4096", "--into", into, "--workers", "1"))
    assert "2 rows" in text and "no answer in 1, first at seq 4096: " in text


@pytest.mark.parametrize(("arguments", "expected"), [
    (("--over", "batch", "--over", "gpu"),
     "several --over without --into: expected a file for the rows; add --into"),
    (("--sample", "3"), "--sample without --into: expected a file for the rows; add --into"),
    (("--engine", "ray"), "--engine without --into: expected a file for the rows; add --into"),
    (("--into", "rows", "--json", "-"),
     "--into and --json are both given: expected --csv or --parquet with --into; remove one"),
    (("--into", "rows", "--over", "batch=1", "--over", "batch=2"),
     "--over batch is given twice: expected an axis once; remove one"),
    (("--into", "rows", "--over", "whatifs=none;cuda_graph"),
     "axis 'whatifs': 'cuda_graph': expected 'none' or what-ifs, such as '+cuda_graph "
     "+precision=fp16'; correct it"),
    (("--into", "rows", "--engine", "spark"),
     "--engine 'spark': expected local, dask://HOST:PORT, ray or ray://HOST:PORT; choose one"),
    (("--into", "rows", "--over", "batch=1,2", "--sample", "3"),
     "a sample of 3: expected 1 to 2, the combinations of the axes; correct it"),
])  # fmt: skip
def test_what_is_no_sweep(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    expected: str,
):
    monkeypatch.chdir(tmp_path)
    assert message(run("sweep", "mlp-tiny", *arguments)) == expected
    assert not (tmp_path / "rows").exists()


def test_files_that_are_no_designs(run: Run, into: Path, tmp_path: Path):
    design = tmp_path / "design.toml"
    assert "No such file" in message(run("sweep", design, "--into", into))
    design.write_text("[axes\n")
    assert message(run("sweep", design, "--into", into)).startswith(f"{design}: not TOML: ")
    design.write_text(DESIGN.replace("[axes]", "[axis]"))
    assert message(run("sweep", design, "--into", into)) == (
        f"{design}: Object contains unknown field `axis`: expected [scenario], [axes], and sample "
        "and seed; correct it"
    )
    design.write_text(DESIGN)
    assert message(run("sweep", design, "--into", into, "--gpu", "h100")) == (
        f"{design} and other options of the design are both given: expected the file alone; write "
        "them into it"
    )
    assert message(run("sweep", design)) == (
        "a design without --into: expected a file for the rows; add --into"
    )


def test_rows_as_parquet(run: Run, into: Path, tmp_path: Path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    out = tmp_path / "rows.parquet"
    stdout(run("sweep", "mlp-tiny", *AXES, "--into", into, "--parquet", out))
    rows = parquet.read_table(out).to_pylist()
    assert [(r["gpu"], r["batch"], r["fits"]) for r in rows] == [
        ("h100", 1, True), ("h100", 8, True), ("h200", 1, True), ("h200", 8, True),
    ]  # fmt: skip


def test_parquet_without_its_package_names_the_extra(
    run: Run, into: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    arguments = (*AXES, "--into", into, "--parquet", tmp_path / "rows.parquet")
    assert message(run("sweep", "mlp-tiny", *arguments)) == (
        '--parquet: needs pyarrow, which is not installed: pip install "ridgepoint[parquet]", or '
        "use --csv"
    )


def test_an_engine_that_does_not_answer_keeps_the_rows(
    run: Run, into: Path, monkeypatch: pytest.MonkeyPatch
):
    from simulator.analysis.design import engines

    def silent(*arguments: object):
        raise engines.EngineLostError("no scheduler answers: timed out")
        yield

    monkeypatch.setattr(engines, "dask", silent)
    engine = ("--engine", "dask://127.0.0.1:9")
    assert message(run("sweep", "mlp-tiny", *AXES, "--into", into, *engine)) == (
        f"--engine dask://127.0.0.1:9: no scheduler answers: timed out: 0 of 4 rows are in {into}; "
        "run the same command again to go on"
    )
    text = " ".join(stdout(run("sweep", "mlp-tiny", *AXES, "--into", into)).split())
    assert text.startswith("4 rows in ")

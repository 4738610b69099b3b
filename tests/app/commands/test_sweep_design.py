"""`ridgepoint sweep --into`: designs of several axes, their files, and one message for each
error.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.hardware.gpu import gpus
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
    assert text.startswith(f"4 rows in {into}, 4 predicted most samples a second: ")
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(r["gpu"], r["batch"]) for r in rows] == [
        ("h100", "1"),
        ("h100", "8"),
        ("h200", "1"),
        ("h200", "8"),
    ]
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


def test_an_axis_named_as_a_figure_has_its_own_column(run: Run, into: Path):
    """`memory` is both a regime's share of the step and a what-if that changes the card's
    capacity."""
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
    (("--into", "rows", "--over", "whatifs=none;+remove='gelu"),
     "axis 'whatifs': \"+remove='gelu\": No closing quotation: expected what-ifs; close the "
     "quotation"),
    (("--into", "rows", "--over", "precision=bf61"),
     "axis 'precision': precision: dtype is 'bf61': did you mean 'bf16'?"),
    (("--into", "rows", "--over", "network=gtp2,bert-base"),
     "unknown network 'gtp2': did you mean 'gpt2'? `ridgepoint networks` lists all"),
    (("--over", "gpu=h100,h2o0"),
     "unknown GPU 'h2o0': did you mean 'h20' or 'h200'? `ridgepoint gpus` lists all "
     f"{len(gpus())}"),
    (("--into", "rows", "--seed", "3"),
     "--seed without --sample: expected the number of combinations to draw; add --sample, or "
     "remove --seed"),
    (("--seed", "0"), "--seed without --into: expected a file for the rows; add --into"),
    (("--into", "rows", "--workers", "2", "--engine", "dask://here:8786"),
     "--workers with --engine dask://here:8786: expected --workers only with local or "
     "ray, because a cluster starts its own workers; remove it"),
    (("--into", "rows", "--workers", "2", "--engine", "ray://here:10001"),
     "--workers with --engine ray://here:10001: expected --workers only with local or "
     "ray, because a cluster starts its own workers; remove it"),
    (("--into", "-"),
     "--into -: expected a file name, because a later run continues from the rows of the file; "
     "name one, and add --csv - to print the rows"),
    (("--into", "rows", "--engine", "spark"),
     "--engine 'spark': expected local, dask://HOST:PORT, ray or ray://HOST:PORT; choose one"),
    (("--into", "rows", "--over", "batch=1,2", "--sample", "3"),
     "a sample of 3: expected 1 to 2, the number of combinations of the axes; correct it"),
])  # fmt: skip
def test_invalid_sweeps_are_refused(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    expected: str,
):
    monkeypatch.chdir(tmp_path)
    assert message(run("sweep", "mlp-tiny", *arguments)) == expected
    assert not (tmp_path / "rows").exists() and not (tmp_path / "-").exists()


def test_an_unknown_axis_is_refused_with_the_known_ones(run: Run):
    refused, _, known = message(run("sweep", "mlp-tiny", "--over", "bach=1,2")).partition(
        "expected "
    )
    assert refused == "no axis 'bach' for mlp-tiny: did you mean 'batch'? "
    axes, _, own = known.partition(", or a size of mlp-tiny: ")
    assert own == "width, depth, classes"
    names = axes.split(", ")
    assert names == sorted(names)
    assert {"batch", "fp8", "gpu", "host_speed", "precision", "weights"} <= {*names}
    assert "cuda_graph" not in names  # it has no value that could vary


def test_files_that_are_not_designs(run: Run, into: Path, tmp_path: Path):
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


@pytest.mark.parametrize(("axes", "expected"), [
    ('network = []', "axis 'network' has no values: expected at least one; list it"),
    ('batch = []', "axis 'batch' has no values: expected at least one; list it"),
    ('whatifs = []', "axis 'whatifs' has no values: expected at least one; list it"),
    ('precision = ["fp32", "bf61"]',
     "axis 'precision': precision: dtype is 'bf61': did you mean 'bf16'?"),
    ('training = [1]', "axis 'training': training: on is 1: expected true or false"),
    ('network = ["gpt2", "gtp2"]',
     "unknown network 'gtp2': did you mean 'gpt2'? `ridgepoint networks` lists all"),
    ('gpu = ["h2o0"]',
     "unknown GPU 'h2o0': did you mean 'h20' or 'h200'? `ridgepoint gpus` lists all "
     f"{len(gpus())}"),
    ('"+host-speed" = [1, 2]\nhost_speed = [3]',
     "{}: an axis is given twice: expected each axis once; remove one"),
    ('batch = [1]\n[unused]', "{}: Object contains unknown field `unused`: expected [scenario], "
     "[axes], and sample and seed; correct it"),
])  # fmt: skip
def test_values_that_no_scenario_has_are_refused_before_the_first_row(
    run: Run, into: Path, tmp_path: Path, axes: str, expected: str
):
    design = tmp_path / "design.toml"
    design.write_text(f'[scenario]\nnetwork = "mlp-tiny"\n[axes]\n{axes}\n')
    assert message(run("sweep", design, "--into", into, "--workers", 1)) == expected.format(design)
    assert not into.exists()


def test_names_of_axes_are_written_as_on_the_command_line(run: Run, into: Path, tmp_path: Path):
    design = tmp_path / "design.toml"
    design.write_text('[scenario]\nnetwork = "mlp-tiny"\n[axes]\n"+host-speed" = [1, 2]\n')
    stdout(run("sweep", design, "--into", into, "--workers", 1))
    same = ("--over", "host_speed=1,2")
    assert "2 rows" in stdout(run("sweep", "mlp-tiny", *same, "--into", into, "--workers", 1))


def test_a_seed_draws_nothing_without_a_sample(run: Run, into: Path, tmp_path: Path):
    design = tmp_path / "design.toml"
    design.write_text(f"seed = 3\n{DESIGN}")
    assert message(run("sweep", design, "--into", into)) == (
        f"{design}: seed without sample: expected the number of combinations to draw; add sample, "
        "or remove seed"
    )


def test_there_are_as_many_processes_as_the_container_allows(
    run: Run, into: Path, monkeypatch: pytest.MonkeyPatch
):
    """joblib counts the cores that the process's affinity and the container's share allow."""
    from simulator.analysis.design import engines

    started: list[int] = []
    real = engines.engine

    def counted(name: str, workers: int) -> Any:
        started.append(workers)
        return real(name, 1)

    monkeypatch.setattr(engines, "engine", counted)
    monkeypatch.setattr("joblib.cpu_count", lambda: 3)
    stdout(run("sweep", "mlp-tiny", "--over", "batch=1", "--into", into))
    assert started == [3]


def test_rows_as_parquet(run: Run, into: Path, tmp_path: Path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    out = tmp_path / "rows.parquet"
    stdout(run("sweep", "mlp-tiny", *AXES, "--into", into, "--parquet", out))
    rows = parquet.read_table(out).to_pylist()
    assert [(r["gpu"], r["batch"], r["fits"]) for r in rows] == [
        ("h100", 1, True),
        ("h100", 8, True),
        ("h200", 1, True),
        ("h200", 8, True),
    ]


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
        raise engines.EngineLostError("no scheduler responds: timed out")
        yield

    monkeypatch.setattr(engines, "dask", silent)
    engine = ("--engine", "dask://127.0.0.1:9")
    assert message(run("sweep", "mlp-tiny", *AXES[:4], "--into", into, *engine)) == (
        "--engine dask://127.0.0.1:9: no scheduler responds: timed out: 0 of 4 rows are in "
        f"{into}; run the same command again to continue"
    )
    text = " ".join(stdout(run("sweep", "mlp-tiny", *AXES, "--into", into)).split())
    assert text.startswith("4 rows in ")

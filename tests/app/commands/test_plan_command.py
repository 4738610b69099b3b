"""`ridgepoint plan`: its answer, its files, and one message if there is no answer."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import app

SPEC = """
[workload]
kind = "inference"
network = "resnet50"
batch = 8
[load]
rate = "100/s"
[limits]
latency = "500 ms"
[candidates]
gpus = ["h200", "h100"]
engines = ["eager"]
"""


def run(*arguments: str):
    return CliRunner().invoke(app, ["plan", *arguments])


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(SPEC)
    return path


def test_the_verdict_and_the_table_are_printed(spec: Path):
    result = run(str(spec))
    assert result.exit_code == 0, result.output
    assert "1 × H100 SXM5 80GB, eager, bf16 carries 100 samples/s" in result.stdout
    assert "The runner-up is 1 × H200" in " ".join(result.stdout.split())
    assert "Assumptions" in result.stdout


def test_the_table_shows_the_batch(spec: Path):
    """The mean batch and the largest batch. If the spec gives no batch, the largest one is the
    batch with the most samples per second within the limit."""
    wide = CliRunner().invoke(app, ["plan", str(spec)], env={"COLUMNS": "160"})
    lines = wide.stdout.splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("configuration"))
    place = lines[head].index(" batch ") + 1
    rows = [line for line in lines[head:] if line.startswith("1 × H")]
    batches = [row[place:].split()[:3] for row in rows]
    assert len(batches) == 2
    for mean, word, most in batches:
        assert 1 <= float(mean) <= int(most) and word == "of"


def test_numbers_are_written_in_full(spec: Path):
    """5,000 samples/s, not 5e+03."""
    spec.write_text(SPEC.replace('"100/s"', '"5000/s"').replace('"500 ms"', '"1.5 s"'))
    printed = " ".join(run(str(spec)).stdout.split())
    assert "Run resnet50 on 5,000 samples/s, 99% of samples within 1.5 s" in printed
    assert "carries 5,000 samples/s with 99% of them within" in printed
    assert "per million samples. The runner-up is" in printed
    assert "e+0" not in printed


def test_the_files(spec: Path, tmp_path: Path):
    paths = {name: tmp_path / f"plan.{name}" for name in ("json", "csv", "html")}
    result = run(str(spec), *(w for n, p in paths.items() for w in (f"--{n}", str(p))))
    assert result.exit_code == 0, result.output
    rows = json.loads(paths["json"].read_text())["rows"]
    flat = list(csv.DictReader(paths["csv"].open()))
    assert len(flat) == len(rows) == 2
    assert float(flat[0]["latency_s"]) == pytest.approx(rows[0]["latency_s"])
    assert float(flat[0]["latency_interval_s_high"]) == pytest.approx(
        rows[0]["latency_interval_s"][1]
    )
    page = paths["html"].read_text()
    assert page.startswith("<!doctype html>")
    assert "Assumptions" in page
    assert "<script" not in page
    varied = "Sensitivity of H100 SXM5 ×1, eager, bf16 to the assumptions"
    for heading in ("Cost against speed", varied, "Candidates"):
        assert f"<h2>{heading}</h2>" in page
    assert page.count("<svg ") == 2 and "1 × H100 SXM5 80GB, eager, bf16" in page


def test_cost_against_speed_is_drawn(spec: Path, tmp_path: Path):
    path = tmp_path / "front.svg"
    result = run(str(spec), "--svg", str(path), "--theme", "light")
    assert result.exit_code == 0, result.output
    drawn = path.read_text("utf-8")
    assert drawn.startswith("<svg ") and "USD per million samples" in drawn
    assert "H100 SXM5 ×1" in drawn and "limit 500 ms, farther right" in drawn
    spec.write_text(SPEC + "[prices]\ncatalogue = false\n")
    result = run(str(spec), "--svg", str(path))
    assert result.exit_code == 2
    assert result.stderr == (
        "error: there is no cost against speed to draw: expected a candidate with a price and a "
        "time; give prices.hourly, or loosen the limits\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"100/s"', '"100 a second"', "error: load.rate = '100 a second': unknown unit"),
        ('"h200"', '"h2000"', "error: unknown GPU 'h2000': did you mean"),
        ("latency", "latencies", "error: limits: unknown key 'latencies': did you mean 'latency'?"),
        ("resnet50", "resnet51", "error: "),
        ('"inference"', '"dreaming"', "error: workload.kind = 'dreaming': expected one of serving"),
    ],
)
def test_one_message_and_status_2(spec: Path, old: str, new: str, message: str):
    spec.write_text(SPEC.replace(old, new))
    result = run(str(spec))
    assert result.exit_code == 2
    assert result.stderr.startswith(message)
    assert result.stdout == ""


def test_a_file_that_is_not_there():
    result = run("nowhere.toml")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: nowhere.toml: No such file or directory: expected a plan's TOML file; check the "
        "path\n"
    )


def test_without_prices_the_answer_is_in_gpu_hours(spec: Path):
    spec.write_text(SPEC + "[prices]\ncatalogue = false\n")
    result = CliRunner().invoke(app, ["plan", str(spec)], env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    output = " ".join(result.stdout.split())
    assert "in 1 GPU-hour an hour, at an unknown price." in output
    assert "1 GPU-hour/h, no price" in output and "USD" not in output.partition("Assumptions")[0]


def test_the_csv_has_servers_of_pools_as_numbers(tmp_path: Path):
    path = tmp_path / "apart.toml"
    path.write_text(
        """
[workload]
kind = "serving"
network = "llama3-8b"
prompt = 512
output = 50
[load]
rate = "4/s"
[candidates]
gpus = ["h100"]
counts = [2]
disaggregated = ["1:1"]
[simulation]
requests = 100
"""
    )
    result = run(str(path), "--csv", "-")
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert {(r["prefill_servers"], r["decode_servers"]) for r in rows} == {("", ""), ("1", "1")}


def test_a_load_that_nothing_carries_ends_with_status_2(spec: Path, tmp_path: Path):
    """One message states the limit, by how much it is missed, and the nearest candidate; all
    candidates are on standard output and in the files."""
    spec.write_text(SPEC.replace('"500 ms"', '"1 ms"').replace('"100/s"', '"10/s"'))
    written = tmp_path / "plan.json"
    result = run(str(spec))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: no candidate meets every limit. The nearest is 8 × H")
    assert "above 1 ms, " in result.stderr and "times the limit; raise limits." in result.stderr
    assert "too slow" in result.stdout and "No candidate" not in result.stdout
    assert run(str(spec), "--json", str(written)).exit_code == 2
    assert {row["status"] for row in json.loads(written.read_text())["rows"]} == {"too slow"}

"""Served steps against measurements on an H200: decodes and joules of the catalogue's Llama."""

import pytest

from calibration.record.host_rounds import as_fast, quiet, speed
from calibration.validate.measured_serving import FILE, Row, iterations, rows, step
from simulator.hardware.host import host as find_host
from simulator.planning.step.step_time import constant

MEASURED = rows(FILE)


def named(part: str, **fields: object) -> Row:
    return next(
        row
        for row in MEASURED
        if row.get("part") == part and all(row.get(k) == v for k, v in fields.items())
    )


def test_every_part_was_measured() -> None:
    counts = {p: sum(r.get("part") == p for r in MEASURED) for p in ("step", "serving", "energy")}
    assert counts == {"step": 15, "serving": 8, "energy": 2}
    assert not [row["failed"] for row in MEASURED if "failed" in row]


@pytest.mark.parametrize(
    ("kind", "batch", "tokens"),
    [("decode", 1, 256), ("decode", 32, 2048), ("decode", 8, 8192), ("prefill", 1, 512)],
)
def test_a_captured_step_takes_as_long_as_measured(kind: str, batch: int, tokens: int) -> None:
    row = named("step", kind=kind, batch=batch, tokens=tokens)
    beside = as_fast(speed(row["probes"], quiet()))
    p = step(kind, "cuda_graph", batch, tokens, beside)
    assert p.period_s == pytest.approx(row["graph"]["period_s"], rel=0.12)


def test_a_decode_takes_the_measured_joules() -> None:
    row = named("energy", kind="decode")
    p = step("decode", "cuda_graph", row["batch"], row["tokens"], find_host())
    assert p.joules == pytest.approx(row["joules"], rel=0.08)
    assert p.watts == pytest.approx(row["power_w"], rel=0.05)


def test_iterations_are_priced_one_by_one() -> None:
    """Two decodes of 10 and 20 ms and a mixed iteration of 40 ms, each predicted at 10 ms: the
    median of 1 and 0.5, and 0.25."""
    row = {
        "prompt": [100],
        "iterations": [[0, 0.01, 2, 50, 0], [0, 0.02, 2, 52, 0], [0, 0.04, 2, 54, 100]],
    }
    decodes, mixed = iterations(row, constant(0.01, 4, 512))
    assert decodes == pytest.approx(0.75) and mixed == pytest.approx(0.25)

"""The table of a plan's candidates: its column titles, cells and short names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.drawing import TABULATED
from app.scenes.plan import table
from app.scenes.plan.table import columns, distinguishing, mode_of, short_name, shown, texts
from simulator.planning.spec_file import read
from tests.app.charts.plan_rows import ROWS, SERVE, row

TRAIN = {"workload": {"kind": "training", "network": "gpt2", "tokens": "20B"}}
INFER = {"workload": {"kind": "inference", "network": "resnet50"}}


@pytest.mark.parametrize("spec", [SERVE, TRAIN, INFER], ids=["serving", "training", "inference"])
def test_heads_of_the_table_do_not_touch(spec: dict[str, Any]):
    for column in columns(read(spec)):
        width = max(TABULATED.width(words) for words in column.head)
        assert width + 4 <= column.brief.px, column.head


def test_the_batch_is_shown_next_to_its_time():
    fitting = shown(columns(read(INFER)), 260)
    assert [c.head[0] for c in fitting] == ["USD per", "Batch", "A batch,"]


def test_a_narrow_table_keeps_the_main_columns():
    spec = read(SERVE)
    every = columns(spec)
    assert [" ".join(c.head) for c in every] == [
        "USD an hour", "USD per M tokens", "Token, 99%, ms", "First, ms", "carries a second",
        "J per token",
    ]  # fmt: skip
    assert [c.cell(ROWS[0]) for c in every][2] == ("30.0", "24.0 to 36.0")
    fitting = shown(every, 200)
    assert [c.head[0] for c in fitting] == ["USD per", "Token,"]
    few = shown(every, 120)
    assert [c.head[0] for c in few] == ["USD per", "Token,"]
    assert few[1].cell(ROWS[0]) == ("30.0", "")
    for kind in (SERVE, TRAIN, INFER):  # the rows are ranked by cost, so the column of costs stays
        assert shown(columns(read(kind)), 80)[0].head[0].startswith("USD")
    assert short_name(row("x", "GeForce RTX 4060 Ti 8GB", 2, 1, 1)) == (
        "RTX 4060 Ti ×2",
        "vllm, bf16",
    )
    split = replace(row("x", "H100 SXM5 80GB", 8, 1, 1), split=2)
    assert short_name(split) == ("H100 SXM5 ×8 tp=2", "vllm, bf16")
    assert distinguishing(ROWS) == ("engine",) and mode_of(ROWS[3], ("engine",)) == "eager"
    assert texts(spec, ROWS[2:3])[1] == [
        "4 × L40S, vllm, bf16", "7.30", "2.03", "40.0 32.0 to 48.0", "200", "20", "0.2",
        "72% sure", "overhead", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("usd", "text"),
    [(0.07, "0.070"), (0.0471, "0.047"), (0.0997, "0.10"), (1234.5, "1,234.50"), (0.004, "0.004")],
)
def test_prices_of_a_column_have_the_same_digits(usd: float, text: str):
    """Regression: 0.07 was shown between 0.062 and 0.074."""
    assert table._money(usd) == text

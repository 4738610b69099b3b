"""The table of a plan in a narrow terminal: whole cells, and the names of columns left out."""

import pytest

from app.report.columns import fitting, least_width
from app.report.plan import show, skipped
from simulator import plan
from simulator.planning import Plan

BATCHES = {
    "workload": {"kind": "inference", "network": "resnet50"},
    "load": {"rate": "800/s"},
    "limits": {"latency": "100 ms"},
    "candidates": {"gpus": ["l40s", "h200"], "counts": [1]},
}


def printed(width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    show(plan(BATCHES), 15)
    return capsys.readouterr().out


def test_a_narrow_terminal_has_whole_columns_and_names_the_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    text = printed(80, capsys, monkeypatch)
    lines = text.splitlines()
    head = next(line for line in lines if line.startswith("configuration"))
    assert head.split() == "configuration cost batch latency, 80% J/sample limits".split()
    shown = "carries at most, bound by: shown in a terminal wider than 80, or with --csv or --json"
    assert shown in " ".join(line.rstrip() for line in lines)
    first = lines[lines.index(head) + 2]
    assert first.startswith("1 × ") and " USD/h " in first and first.rstrip().endswith("fits")
    assert max(map(len, lines)) <= 80


def test_a_wide_terminal_has_all_columns_with_a_line_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    lines = printed(150, capsys, monkeypatch).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("configuration"))
    assert "carries at most" in lines[at] and "bound by" in lines[at]
    assert "--csv" not in "".join(lines[at : at + 6])
    assert lines[at + 2].startswith("1 × ") and lines[at + 3].startswith("1 × ")


def test_columns_fit_with_their_gaps():
    widths = {"a": 10, "b": 30, "c": 8}
    assert fitting(("a", "b", "c"), widths, 52) == {"a", "b", "c"}  # 10 + 30 + 8 + 2 gaps of 2
    assert fitting(("a", "b", "c"), widths, 51) == {"a", "b"}
    assert fitting(("c", "b", "a"), widths, 41) == {"c", "b"}  # 8 + 30 + 2
    assert least_width("why not", ["a reason of 24 characters", ""], 18) == 18
    assert least_width("time", ["49.3 ms\n(40.5 to 59.4)"]) == 14


def test_up_to_three_skipped_candidates_are_named():
    """Regression: "3 such as P4, bf16" left out the names of two cards."""
    three: dict[str, str] = dict.fromkeys(
        ("P4, bf16", "Apple M3, bf16", "V100, bf16"), "no tensor peak"
    )
    four: dict[str, str] = dict.fromkeys(("2 × A", "4 × A", "8 × A", "2 × B"), "fewer fit")
    assert skipped(Plan("serving", "", "", (), (), three | four)) == [
        "  4 such as 2 × A: fewer fit",
        "  P4, bf16; Apple M3, bf16; V100, bf16: no tensor peak",
    ]

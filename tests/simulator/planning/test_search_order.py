"""The order in which a search plans its cards, and that of its rows."""

from __future__ import annotations

import os
import signal
from itertools import groupby
from typing import Any

import numpy as np

from simulator.hardware.gpu import gpus
from simulator.planning import serve_search
from simulator.planning.serve_search import SearchResult, search
from simulator.planning.spec_file import read
from simulator.scenario.gpu_class import traced_properties

SPEC: dict[str, Any] = {
    "workload": {"kind": "serving", "network": "llama3-8b", "prompt": 512, "output": 100},
    "load": {"rate": "10/s"},
    "candidates": {"gpus": "all", "counts": [1], "precisions": ["bf16", "fp8"]},
}


def test_cards_that_share_traces_follow_each_other(monkeypatch: Any) -> None:
    """Each class of cards is planned once in each precision; reasons stay in the order of cards. A
    card without bf16 products is planned in fp16."""
    planned: list[tuple[str, Any]] = []

    def of_card(spec: Any, size: Any, group: Any, late: bool = False) -> SearchResult:
        precision, card = group
        planned.append((precision, traced_properties("llama3-8b-decode", card)))
        return SearchResult([], {f"{card.id} {precision}": "not planned"}, {})

    monkeypatch.setattr(serve_search, "of_card", of_card)
    result = search(read(SPEC), 1, lambda text: None)
    runs = [key for key, _ in groupby(planned)]
    assert len(runs) == len(set(runs)) and len(planned) == 2 * len(gpus())
    assert list(dict.fromkeys(precision for precision, _ in runs)) == ["bf16", "fp16", "fp8"]
    plain = [f"{c.id} {'bf16' if c.peak('tensor', 'bf16') else 'fp16'}" for c in gpus()]
    assert list(result.pruned) == plain + [f"{c.id} fp8" for c in gpus()]
    assert {"t4 fp16", "h200_sxm bf16"} <= set(plain)
    assert np.array(result.rows).size == 0


def _squared_once(task: tuple[int, int]) -> int:
    """The square of a number; at 5, any process except the first dies."""
    number, first = task
    if number == 5 and os.getpid() != first:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def test_the_tasks_of_a_process_that_dies_are_done_once() -> None:
    """Regression: when the system ran out of memory and killed a process, the plan ended with a
    traceback."""
    tasks = [(number, os.getpid()) for number in range(12)]
    squares = list(serve_search._mapped(_squared_once, tasks, 2))  # pyright: ignore[reportPrivateUsage]
    assert squares == [number * number for number in range(12)]

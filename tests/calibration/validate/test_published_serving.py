"""Hand-computed closed loops, the ranking of cards, and the summary of published tables."""

import csv
import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibration.validate import published_loops
from calibration.validate.closed_loop import closed_loop
from calibration.validate.published_loops import Compared, kendall, loops, repeated
from calibration.validate.published_rows import Layout, layout
from calibration.validate.published_serving import summary
from simulator.planning.server.scheduler import Rules
from simulator.planning.step.step_time import constant


def compared(card: str, predicted: float, measured: float, case: str = "a") -> Compared:
    return Compared(
        "t", "tokens/s", case, card, predicted, 0.9 * predicted, 1.1 * predicted, measured
    )


def test_two_clients_that_share_every_iteration_do_not_wait_for_each_other() -> None:
    """2 clients, prompts of 10 tokens and answers of 5, and iterations of 1 s that hold both: the
    first token and each further token take 1 s, and 2 answers of 5 tokens take 5 s."""
    loop = closed_loop(constant(1.0, 2, 64), Rules(64, 64, 10_000), 2, 10, 5)
    assert loop.first_token_s == pytest.approx(1.0)
    assert loop.per_token_s == pytest.approx(1.0)
    assert loop.tokens_per_s == pytest.approx(2.0)


def test_a_prompt_that_fills_an_iteration_delays_the_other_client() -> None:
    """Prompts of 64 tokens in iterations of 64: the second client's first token comes after 2 s. A
    decode takes a token from the iteration of the next prompt, which is therefore cut."""
    loop = closed_loop(constant(1.0, 2, 64), Rules(64, 64, 10_000), 2, 64, 5)
    assert loop.first_token_s > 1.0 and loop.per_token_s == pytest.approx(1.0)


def test_kendall_counts_pairs_of_cards_with_the_same_case() -> None:
    a, b, c = compared("a", 1, 10), compared("b", 2, 20), compared("c", 3, 15)
    assert kendall([a, b, c]) == (pytest.approx(1 / 3), 3)  # a<b and a<c agree; b<c does not
    assert kendall([a, compared("b", 0.5, 20, case="other")])[1] == 0
    assert kendall([a, replace(b, table="another network")])[1] == 0


def test_pairs_within_the_spread_of_repeated_runs_are_left_out() -> None:
    """Two runs of one card differ by ln 1.1; cards at 10 and 10.5 differ by less, cards at 10 and
    20 by more. Runs of another release are not repetitions."""
    runs = [compared("a", 1, 10), compared("b", 0.9, 10.5), compared("c", 2, 20)]
    assert np.isnan(repeated(runs))
    again = [*runs, compared("c", 2, 22), replace(runs[2], measured=44, release="2")]
    assert repeated(again) == pytest.approx(np.log(1.1))
    assert kendall(runs) == (pytest.approx(1 / 3), 3)
    assert kendall(runs, repeated(again)) == (pytest.approx(1.0), 2)
    lines = [line for line in summary(again, {}) if line.startswith("…")]
    assert lines == [
        "… of pairs that differ by more than 9.5%, the 80th percentile between runs of one "
        "release on one card: 1.00 of 6 pairs"
    ]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (("8", "1", "8", "1"), Layout(8)),
        (("8", "1", "1", "8"), Layout(8, experts=True)),
        (("1", "8", "1", "8"), Layout(8, experts=True, sequences=True)),
        (("2", "2", "1", "4"), None),  # two groups of two GPUs each
        (("4", "1", "2", "2"), None),
    ],
)
def test_gpus_share_experts_and_sequences(
    sizes: tuple[str, str, str, str], expected: Layout | None
) -> None:
    """`sizes` are four numbers of GPUs: for tensor and data parallelism in attention, and for
    tensor and expert parallelism in the experts."""
    names = "tp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size"
    assert layout(dict(zip(names, sizes, strict=True))) == expected


def test_errors_and_coverage_are_those_of_the_rows() -> None:
    """Predictions of 1 and 2 for measured 1 and 1.6: errors of 0% and 25%, one of two within ±
    10%."""
    lines = list(summary([compared("a", 1, 1), compared("b", 2, 1.6)], {"several GPUs": 3}))
    assert lines[2:] == [
        "| all | tokens/s | 2 | 12% | 22% | +12% | 50% |",
        "| t | tokens/s | 2 | 12% | 22% | +12% | 50% |",
        "ranking of cards by tokens/s: Kendall's tau 1.00 of 1 pairs",
        "left out, 3 runs: several GPUs",
    ]


def test_rows_that_no_plan_stands_for_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {
        "model_path": "nvidia/Llama-3.1-8B-Instruct-FP8",
        "mode": "agg",
        "tp_size": "1",
        "pp_size": "1",
        "precision": "fp8",
        "silicon_data_source": "silicon_concurrency=2",
        "backend": "vllm",
        "system": "h200_sxm",
        "isl": "10",
        "osl": "5",
        "batch_size": "2",
        "silicon_tpot_ms": "1000",
        "silicon_ttft_ms": "2000",
        "attention_dp_size": "",
        "moe_tp_size": "",
        "moe_ep_size": "",
    }
    path = tmp_path / "serving.csv.gz"
    with gzip.open(path, "wt", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(
            [
                columns,
                columns | {"model_path": "nvidia/Llama-3.1-8B-Instruct-FP8"},
                columns | {"tp_size": "16"},
                columns | {"mode": "disagg"},
                columns | {"model_path": "x/y"},
                columns | {"attention_dp_size": "8", "moe_tp_size": "1", "moe_ep_size": "8"},
                columns | {"attention_dp_size": "2", "moe_tp_size": "2", "moe_ep_size": "1"},
            ]
        )
    fixed = constant(1.0, 64), Rules(64, 64, 10_000)
    monkeypatch.setattr(published_loops, "server", lambda *_: fixed)
    left_out: dict[str, int] = {}
    by_figure = {row.figure: row for row in loops(path, left_out)}
    assert left_out == {
        "plans do not cover tp=16 pp=1": 1,
        "prefill and decode on separate GPUs": 1,
        "x/y: no network of the catalogue": 1,
        "the same run as another row's": 1,
        "plans do not cover whole experts of llama3-8b on each GPU": 1,
        "plans do not cover this division of experts and sequences among GPUs": 1,
    }
    assert by_figure["time per token"].error == pytest.approx(0)
    assert by_figure["first token"].predicted == pytest.approx(1.0)
    # two clients; each gets 5 tokens in 2 + 4·1 s
    assert by_figure["tokens/s"].measured == pytest.approx(10 / 6)
    assert np.isfinite(by_figure["tokens/s"].predicted)

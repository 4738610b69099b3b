"""The fit of the energy of collectives."""

import gzip
import json
from pathlib import Path
from statistics import fmean, median

import pytest
from msgspec.structs import replace

from calibration.fit.collective_energy import FILE, RankPower, fitted, known_w, rank_powers
from calibration.record.read import MEASUREMENTS
from simulator.hardware.gpu import gpu
from simulator.timing.energies import Energies, energies

SENT = 2**26


def known() -> Energies:
    card = energies(gpu("h200_sxm"))
    assert card is not None
    return card


def test_the_fit_recovers_the_figures_from_which_powers_were_computed(tmp_path: Path) -> None:
    """An all-reduce of 64 MiB over two cards sends and receives 128 MiB."""
    card, path = known(), tmp_path / "energy.jsonl.gz"
    per_byte = card.l2_j_per_byte + card.dram_j_per_byte

    def row(how: str, each_s: float) -> dict[str, object]:
        watts = 110 + card.busy_w + 30 + (per_byte * 2 * SENT + 8e-11 * 2 * SENT) / each_s
        ranks = [{"power_w": watts}, {"power_w": watts}]
        return {"collective": "all_reduce", "message_bytes": SENT, "how": how, "each_s": each_s,
                "ranks": ranks}  # fmt: skip

    rows: list[dict[str, object]] = [{"rest": [{"power_w": 110}, {"power_w": 110}]}]
    rows += [row("alone", 3e-4), row("late product/8192", 2e-3), row("beside product/8192", 1.0)]
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in rows)
    powers = rank_powers(path)
    assert len(powers) == 3  # the first rank of the late case computes
    again = fitted(powers, card)
    assert again.collective_w == pytest.approx(30)
    assert again.link_j_per_byte == pytest.approx(8e-11)


def errors_of(powers: list[RankPower]) -> list[float]:
    """Predicted over measured powers, minus one."""
    card = known()
    errors: list[float] = []
    for each in powers:
        watts = known_w(each, card) + card.collective_w
        watts += card.link_j_per_byte * each.link_bytes_per_s
        errors.append(watts / each.watts - 1)
    return errors


def test_the_stored_figures_are_those_of_the_measurements() -> None:
    card, powers = known(), rank_powers(FILE)
    again = fitted(powers, card)
    # the last digit of a least-squares fit depends on the processor
    figures = again.collective_w, again.link_j_per_byte
    assert figures == pytest.approx((card.collective_w, card.link_j_per_byte), rel=1e-9)
    assert replace(again, link_j_per_byte=card.link_j_per_byte) == card
    errors = [abs(error) for error in errors_of(powers)]
    assert len(errors) == 26
    assert max(errors) < 0.09


def test_four_cards_draw_what_the_fit_to_two_predicts() -> None:
    errors = errors_of(rank_powers(MEASUREMENTS / "h200_sxm_x4" / "collective_energy.jsonl.gz"))
    assert (
        len(errors) == 54
    )  # 12 cases of four cards, and two of the three that wait for a late one
    assert median(map(abs, errors)) < 0.055
    assert fmean(errors) == pytest.approx(-0.009, abs=0.002)
    assert max(map(abs, errors)) < 0.16

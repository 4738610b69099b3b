"""A card's own figures combined with the kernels of another card of its architecture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.costs import Work
from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.timing import profile as profiles
from simulator.timing.card import CARDS
from simulator.timing.profile import learned, packaged, profile
from simulator.timing.roofline import roofs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(profiles, "CARDS", tmp_path)
    profile.cache_clear()
    yield tmp_path
    profile.cache_clear()


def write(folder: Path, **other: Any) -> None:
    known = json.loads((CARDS / "h100.json").read_text())
    (folder / "other.json").write_text(json.dumps(known | other))


def test_an_h100_is_predicted_by_its_card_and_an_h200_by_its_profile() -> None:
    assert (learned("h100_sxm").id, learned("h200_sxm").id, learned("h100_pcie").id) == (
        "h100",
        "h200",
        "h200",
    )
    assert set(packaged()) >= {"h100", "h200"}


def test_a_card_has_its_own_interval_in_eager_mode() -> None:
    card, base = profile("h100"), profile("h200")
    assert card.interval_on("h100_sxm") == card.interval != base.interval
    assert card.interval_on("h200_sxm") == base.transferred
    # no compiled steps were compared with an H100
    low, high = card.interval_on("h100_sxm", "compiled")
    assert low == min(card.interval[0], base.compiled[0] if base.compiled else 1.0)
    assert high == max(card.interval[1], base.compiled[1] if base.compiled else 1.0)


def test_short_kernels_of_a_card_take_longer() -> None:
    work = [Work("fill", write_bytes=4, dims={"elements": 1})]
    here, there = (roofs(work, gpu("h100"), profile(name)).fixed_s[0] for name in ("h100", "h200"))
    assert here - there == pytest.approx(profile("h100").kernel_s)


@pytest.mark.parametrize(("other", "said"), [
    ({"kernel_s": "long"}, "other.json is not a valid file of a card: Expected `float`, got `str`"),
    ({"version": 1}, "other.json is a profile of version 1: expected 3; install Ridgepoint again"),
    ({"graph_gap_s": -1.0},
     "other.json is not a valid profile: graph_gap_s is -1, expected above 0"),
    ({"of": "h300"}, "unknown profile 'h300': expected one of h200, other"),
])  # fmt: skip
def test_a_wrong_card_is_refused_with_the_key(
    folder: Path, other: dict[str, Any], said: str
) -> None:
    write(folder, **other)
    with pytest.raises(InputError, match=said.replace("(", "[(]")):
        profile("other")

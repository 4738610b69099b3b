"""The default host of several ranks, which wait for the slowest of their hosts."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from simulator.errors import InputError
from simulator.hardware.host import host

HOST = msgspec.structs.replace(host(), slowest={2: (1.2, 0.7, 1.3), 8: (1.5, 0.8, 1.1)})


def test_ranks_wait_for_the_slowest_host() -> None:
    for ranks, times, spread in ((2, 1.2, (0.7, 1.3)), (7, 1.2, (0.7, 1.3)), (64, 1.5, (0.8, 1.1))):
        several = HOST.of_ranks(ranks)
        assert several.seconds["op"] == HOST.seconds["op"] * times
        assert several.spread_on("h100_sxm") == spread


def test_a_spread_of_ranks_that_ends_before_it_begins_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    wrong = msgspec.structs.replace(HOST, slowest={2: (1.2, 1.3, 0.7)})
    path.write_bytes(msgspec.json.encode(wrong))
    with pytest.raises(InputError, match="the high end of its spread is below the low end"):
        host(str(path))


def test_one_rank_and_a_host_of_its_own_speed_stay_as_they_are() -> None:
    assert HOST.of_ranks(1) is HOST
    own = HOST.slower(1.0)
    assert own.of_ranks(8) is own


def test_a_training_step_takes_the_factor_once() -> None:
    own = msgspec.structs.replace(HOST, training=1.5)
    trained = own.in_phase("training")
    assert own.in_phase("inference") is own
    assert trained.seconds == {name: s * 1.5 for name, s in own.seconds.items()}
    assert trained.in_phase("training") is trained
    ranks = own.of_ranks(2).in_phase("training")
    assert trained.of_ranks(2).seconds == pytest.approx(ranks.seconds)


def test_two_ranks_train_no_faster_than_one() -> None:
    one, two = (host().of_ranks(ranks).in_phase("training") for ranks in (1, 2))
    assert all(two.seconds[name] >= one.seconds[name] for name in one.seconds)

"""Hosts: their parts, files of older versions, and those of the catalogue."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from calibration.record.host_rounds import reference_index
from simulator.errors import InputError
from simulator.hardware.host import (
    COUNTS,
    FOLDER,
    OWN_SPREAD,
    PYTHON,
    VERSION,
    Host,
    Parts,
    _host,
    host,
    hosts,
)
from simulator.hardware.host_catalogue import catalogue
from simulator.hardware.host_speed import parts

OLD = {
    "version": 1,
    "id": "own",
    "cpu": "a laptop",
    "source": "",
    "seconds": {"op": 1e-5},
    "latency_s": 5e-6,
    "sync_s": 8e-6,
    "depth": 1024,
}


AGAIN = (
    "measure this host again: `ridgepoint calibrate measure --host-only FOLDER`, then `ridgepoint "
    "calibrate fit FOLDER`"
)


def written(path: Path, record: object) -> str:
    path.write_bytes(msgspec.json.encode(record))
    return str(path)


def test_each_part_is_slower_by_itself() -> None:
    slow = host().slower(Parts(2.0, 3.0, 5.0))
    for name in COUNTS:
        times = 2.0 if name in PYTHON else 5.0 if name == "launch" else 3.0
        assert slow.seconds[name] == pytest.approx(times * host().seconds[name])


def test_parts_from_fixed_steps_by_hand() -> None:
    reference = {"adds/a": 1.0, "linears/a": 1.0, "pythoncalls/a": 1.0, "views/a": 1.0}
    measured = {"adds/a": 2.0, "linears/a": 2.0, "pythoncalls/a": 8.0, "views/a": 9.0}
    # ops are 2 times slower; the interpreter √(8 · 2) times
    assert parts(measured, reference) == Parts(4.0, 2.0, 2.0)
    on_cpu = {"adds/a@cpu": 1.0, "pythoncalls/a@cpu": 1.0}
    assert parts({"adds/a@cpu": 3.0, "pythoncalls/a@cpu": 3.0}, on_cpu) == pytest.approx((3, 3, 3))


def test_hosts_without_a_common_step_are_refused() -> None:
    with pytest.raises(InputError, match="no host case in common: found a, expected some of b"):
        parts({"a": 1.0}, {"b": 1.0})


def test_a_host_of_version_1_is_converted_by_its_fixed_steps(tmp_path: Path) -> None:
    twice = {name: 2 * seconds for name, seconds in host().reference.items()}
    profile = host(written(tmp_path / "own.json", OLD | {"reference": twice}))
    assert profile.seconds == pytest.approx({n: 2 * s for n, s in host().seconds.items()})
    assert (profile.id, profile.cpu, profile.spread) == ("own", "a laptop", OWN_SPREAD)
    assert (
        profile.source == "own.json, of version 1: the times of xeon-h200 scaled by its fixed steps"
    )


def test_a_host_of_version_1_without_fixed_steps_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        host(written(tmp_path / "bare.json", OLD))
    assert str(caught.value) == (
        "bare.json has version 1 and no times of fixed steps: expected version 2, with separate "
        f"times for Python's instructions and calls into C; {AGAIN}"
    )


@pytest.mark.parametrize(
    "record",
    [
        {"version": 99},
        msgspec.to_builtins(host()) | {"version": 99},
        OLD | {"version": 99, "reference": {}},
    ],
)
def test_a_host_of_a_newer_version_is_refused_as_newer(
    record: dict[str, object], tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        host(written(tmp_path / "new.json", record))
    assert str(caught.value) == (
        "new.json has version 99, which a newer version of Ridgepoint wrote: expected version 2; "
        f"update Ridgepoint, or {AGAIN}"
    )


def test_a_host_of_an_unknown_older_version_is_not_said_to_lack_fixed_steps(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        host(written(tmp_path / "odd.json", msgspec.to_builtins(host()) | {"version": 0}))
    assert str(caught.value) == (
        "odd.json has version 0: expected version 2, with separate times for Python's instructions "
        f"and calls into C; {AGAIN}"
    )


def test_a_profile_of_a_gpu_is_no_host(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        host(written(tmp_path / "h200_sxm.json", {"version": 3, "id": "h200", "gpu": "h200_sxm"}))
    assert str(caught.value) == (
        "h200_sxm.json is a GPU's profile: expected a host's file; name the host.json that "
        "`ridgepoint calibrate fit FOLDER` writes beside it"
    )


def test_a_host_that_lacks_a_count_is_refused(tmp_path: Path) -> None:
    seconds = {n: s for n, s in host().seconds.items() if n not in ("instruction", "c_call")}
    lacking = msgspec.structs.replace(host(), seconds=seconds)
    with pytest.raises(InputError) as caught:
        host(written(tmp_path / "lacking.json", lacking))
    assert str(caught.value) == (
        f"lacking.json is not a valid host profile: it lacks instruction, c_call; {AGAIN}"
    )


def test_a_file_older_than_a_count_takes_the_default_scaled_by_an_op(tmp_path: Path) -> None:
    slow = host().slower(2.0)
    older = {n: s for n, s in slow.seconds.items() if n != "recurrent_weight"}
    path = written(tmp_path / "older.json", msgspec.structs.replace(slow, id="own", seconds=older))
    assert host(path).seconds["recurrent_weight"] == pytest.approx(
        2 * host().seconds["recurrent_weight"], rel=1e-9
    )


def test_a_file_older_than_a_split_of_counts_has_no_time_for_the_new_ones(tmp_path: Path) -> None:
    new = ("further_kernel", "trained_convolution", "gradient")
    older = {n: s for n, s in host().seconds.items() if n not in new}
    path = written(tmp_path / "older.json", msgspec.structs.replace(host(), seconds=older))
    assert host(path).seconds == older | dict.fromkeys(new, 0.0)


@pytest.mark.parametrize(
    ("change", "text"),
    [({"latency_s": 1.0}, "Expected `float` < 1.0"), ({"latency_s": -1e-6}, ">= 0.0"),
     ({"spread": (0.0, 1.0)}, "> 0.0"), ({"spread": (1.2, 0.9)}, "the high end of its spread")],
)  # fmt: skip
def test_impossible_figures_are_refused(
    change: dict[str, object], text: str, tmp_path: Path
) -> None:
    record = msgspec.to_builtins(host()) | change
    with pytest.raises(InputError, match=text):
        host(written(tmp_path / "odd.json", record))


def test_the_default_comes_first_and_every_host_is_found() -> None:
    assert hosts()[0] == host().id
    assert len(catalogue()) >= 8 and set(catalogue()) < set(hosts())
    for name in hosts():
        profile = host(name)
        low, high = profile.spread
        assert profile.id == name and low < 1 < high
        assert set(profile.seconds) == set(COUNTS)


def test_a_host_of_the_catalogue_is_the_default_by_its_figure() -> None:
    desktop = host("desktop")
    # 2850 against 4250 MHz, and no other processes on its cores, which slow the default host by
    # 1.49
    assert desktop.seconds["op"] == pytest.approx(host().seconds["op"] * 2850 / 4250 / 1.49)
    assert "1.49 times as fast with quiet cores" in desktop.source
    assert not desktop.measured and "4250 against 2850" in desktop.source
    assert (desktop.latency_s, desktop.sync_s) == (host().latency_s, host().sync_s)


def test_a_faster_figure_is_a_faster_host() -> None:
    own = ("desktop", "laptop", "workstation")
    for alone in (False, True):
        entries = [(e.single_thread, n) for n, e in catalogue().items() if (n in own) is alone]
        times = [host(name).launch_s for _, name in sorted(entries)]
        assert len(times) >= 3 and times == sorted(times, reverse=True)


def test_the_catalogue_knows_how_much_other_processes_slow_the_default() -> None:
    shared = parts(host().reference, reference_index()).driver
    assert tomllib.loads((FOLDER / "catalogue.toml").read_text())["shared"] == pytest.approx(
        shared, rel=0.01
    )


def test_a_derived_host_is_less_certain_than_a_measured_one() -> None:
    own: Host = msgspec.structs.replace(host(), spread=OWN_SPREAD)
    for name in catalogue():
        low, high = host(name).spread
        assert low < own.spread[0] and high > own.spread[1]


def test_a_file_of_more_than_a_mebibyte_is_refused(tmp_path: Path) -> None:
    whole = msgspec.json.encode(OLD)
    for size, why in ((2**20, "version"), (2**20 + 1, "large")):
        path = tmp_path / "own.json"
        path.write_bytes(whole.ljust(size))
        with pytest.raises(InputError, match=why):
            host(str(path))


def test_two_near_names_are_suggested_for_an_unknown_host() -> None:
    # Skylake is not suggested
    why = (
        "unknown host 'xeon-a10': did you mean 'xeon-h100' or 'xeon-h200'? `ridgepoint hosts` "
        "lists all 14"
    )
    with pytest.raises(InputError, match=re.escape(why)):
        host("xeon-a10")


def test_capitals_and_underscores_do_not_hide_a_near_name() -> None:
    with pytest.raises(InputError, match=r"unknown host 'EPYC_MILAN': did you mean 'epyc-milan'"):
        host("EPYC_MILAN")


def test_a_folder_of_a_hosts_name_does_not_hide_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "desktop").mkdir()
    (tmp_path / "grace").write_text("")
    monkeypatch.chdir(tmp_path)
    _host.cache_clear()
    assert (host("desktop").id, host("grace").id) == ("desktop", "grace")


def test_the_estimated_rating_of_a_processor_is_not_called_its_rating() -> None:
    assert [name for name, entry in catalogue().items() if entry.estimated] == ["grace"]
    assert host("grace").source == (
        "xeon-h200, 1.10 times as long: an estimate of PassMark's single thread rating, 2600, "
        "against 2850 of a Xeon Platinum 8480+ (no public rating: a Xeon's, scaled by SPECrate "
        "2017 integer base per core)"
    )
    assert host("epyc-turin").source == (
        "xeon-h200, 0.79 times as long: PassMark's single thread rating of 3600 against 2850 of a "
        "Xeon Platinum 8480+ (cpubenchmark.net, rounded to 100)"
    )


def test_a_host_without_a_spread_has_none() -> None:
    assert Host(VERSION, "own", "", "", {}, 1e-6, 1e-6, 1024).spread == (1, 1)

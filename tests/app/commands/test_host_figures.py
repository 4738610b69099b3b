"""`ridgepoint hosts NAME`: the figures of one host, and their sources."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from simulator.hardware.host import FOLDER, OWN_SPREAD, host
from tests.app.conftest import Run, stdout, table


def words(text: str) -> str:
    return " ".join(text.split())


def rows(text: str) -> dict[str, str]:
    """The cells of each figure, by its name."""
    lines = text.partition("─\n")[2].partition("\n[1]")[0].splitlines()
    cells = [[cell for cell in line.split("  ") if cell] for line in lines]
    return {name.strip(): words(" ".join(others)) for name, *others in cells}


def test_a_measured_host_with_its_intervals_and_sources(run: Run) -> None:
    text = table(run("hosts", "xeon-h200"))
    assert "(xeon-h200)\nmeasured, the default host\n" in text
    figures = rows(text)
    file = json.loads((FOLDER / "xeon-h200.json").read_bytes())
    op, launch = (file["seconds"][name] * 1e6 for name in ("op", "launch"))
    assert 1 < op < 10 and figures["op"] == f"{op:.2f} µs [1]"
    assert 1 < launch < 10 and figures["launch"] == f"{launch:.2f} µs none"
    assert figures["launch to start"] == "5.00 µs none"
    assert figures["launches in the queue"] == "1,024 none"
    assert figures["times in training"] == "1.09 [2]"
    low, high = file["spread"]
    assert figures["80% interval"] == f"{low}–{high} [3]"
    low, high = file["spread_with"]["h100_sxm"]
    assert figures["80% interval with h100_sxm"] == f"{low}–{high} [3]"
    times, low, high = file["slowest"]["16"]
    assert figures["slowest of 16 ranks"] == f"{times} ({low}–{high}) [4]"
    assert f"[1] {host().source} [2] measured over predicted" in words(text)
    assert "Not recorded" not in text


def test_a_derived_host_relative_to_the_default_with_what_is_not_recorded(run: Run) -> None:
    text = table(run("hosts", "epyc-turin"))
    assert text.startswith(
        "AMD EPYC 9575F (Turin), cloud (epyc-turin)\ncloud, derived, not measured\n"
    )
    figures = rows(text)
    assert figures["rating"] == "3,600 [1]"
    # 2850 / 3600 = 0.792
    assert figures["op"] == f"{host().seconds['op'] * 2850 / 3600 * 1e6:.2f} µs 0.792 [1]"
    assert figures["resume after a sync"] == "8.00 µs 1.00 none"
    assert figures["80% interval"] == "0.75–1.5 [3]"
    assert (
        "[1] xeon-h200, 0.79 times as long: PassMark's single thread rating of 3600 against 2850 "
        "of a Xeon Platinum 8480+ (cpubenchmark.net, rounded to 100) [2]"
    ) in words(text)
    assert (
        "Not recorded: the page and the date of the rating; the source of the reference's rating."
    ) in words(text)


def test_a_host_without_a_public_rating_says_so(run: Run) -> None:
    text = table(run("hosts", "grace"))
    assert rows(text)["rating, estimated"] == "2,600 [1]"
    assert "(no public rating: a Xeon's, scaled by SPECrate 2017 integer base per core)" in words(
        text
    )
    assert "Not recorded: the Xeon, the results of SPECrate, and their dates;" in words(text)


def test_a_host_of_a_users_file(run: Run, tmp_path: Path) -> None:
    own = msgspec.structs.replace(
        host().slower(0.5), id="own", cpu="a laptop", source="fixed steps", spread=OWN_SPREAD
    )
    own.seconds["launch"] = host().launch_s / 4
    (tmp_path / "host.json").write_bytes(msgspec.json.encode(own))
    text = table(run("hosts", tmp_path / "host.json"))
    assert text.startswith("a laptop (own)\nmeasured\n")
    figures = rows(text)
    assert figures["op"].endswith(" µs 0.500 [1]") and figures["launch"].endswith(" 0.250 [1]")
    assert figures["80% interval"] == "0.85–1.25 [3]"
    assert "[1] fixed steps" in text and "[3] variation of one host over seconds" in text


def test_an_unknown_host_is_one_line_with_near_names(run: Run) -> None:
    result = run("hosts", "Milan")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: unknown host 'Milan': did you mean 'epyc-milan'? `ridgepoint hosts` lists all 14\n"
    )


def test_the_help_names_the_argument(run: Run) -> None:
    assert "Show all figures of this host, or of a host's file, with sources." in words(
        stdout(run("hosts", "--help"))
    )

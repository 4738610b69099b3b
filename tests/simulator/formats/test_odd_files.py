"""Pipes, devices and folders where the user names a file to write: a single message,
immediately."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.cluster.cluster import cluster
from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.networks.loading.load import load
from simulator.planning.server import requests
from simulator.planning.spec_file import read as read_plan
from simulator.scenario.scenario import load as load_scenario
from simulator.symbols.sources import source_digests

TEXTS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "scenario": (
        load_scenario,
        ".toml",
        "cannot read the scenario {path}: {why}: expected a regular file; check the path",
    ),
    "plan": (
        read_plan,
        ".toml",
        "cannot read the plan {path}: {why}: expected a regular file; check the path",
    ),
    "requests": (
        lambda path: requests.read(Path(path)),
        ".csv",
        "cannot read the request trace {path}: {why}: expected a regular file; check the path",
    ),
    "host": (
        host,
        ".json",
        "--host '{path}': {why}: expected a calibrated host's .json file, or a host's name "
        "(`ridgepoint hosts`)",
    ),
    "named host": (
        host,
        "",
        "--host '{path}': {why}: expected a calibrated host's .json file, or a host's name "
        "(`ridgepoint hosts`)",
    ),
    "cluster": (
        cluster,
        ".toml",
        "{path}: {why}: expected a cluster's TOML file; check the path",
    ),
    "named cluster": (
        cluster,
        "",
        "--cluster '{path}': {why}: expected a cluster's TOML file, whose name ends in .toml, or "
        "a cluster's name (`ridgepoint clusters`)",
    ),
    "gpu": (gpu, ".toml", "{path}: {why}: expected a GPU's TOML file; check the path"),
    "network": (load, ".py", "'{path}': {why}: expected FILE.py:FACTORY; check the path"),
    "configuration": (
        lambda path: load(f"hf:{path}"),
        ".json",
        "'{path}': {why}: expected hf:FOLDER with a config.json, or hf:FILE",
    ),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_null_byte_in_a_name_names_no_file(kind: str) -> None:
    read, suffix, _ = TEXTS[kind]
    with pytest.raises(InputError) as error:
        read(f"/folder/a\0b{suffix}")
    assert "no such file" in str(error.value).lower()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
@pytest.mark.parametrize("kind", TEXTS)
def test_a_pipe_is_refused_without_reading_it(kind: str, tmp_path: Path) -> None:
    read, suffix, text = TEXTS[kind]
    path = tmp_path / f"pipe{suffix}"
    os.mkfifo(path)
    with pytest.raises(InputError) as error:
        read(str(path))
    assert str(error.value) == text.format(path=path, why="is a pipe")


@pytest.mark.parametrize("kind", ["scenario", "plan", "requests", "named host", "named cluster"])
def test_a_device_and_a_folder_are_named(kind: str, tmp_path: Path) -> None:
    read, _, text = TEXTS[kind]
    for path, why in (("/dev/zero", "is a device"), (str(tmp_path), "is a folder")):
        with pytest.raises(InputError) as error:
            read(path)
        assert str(error.value) == text.format(path=path, why=why)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (
            gpu,
            "--gpu './{name}': {why}: expected a GPU's TOML file, whose name ends in .toml, or a "
            "GPU's name (`ridgepoint gpus`)",
        ),
        (cluster, TEXTS["named cluster"][2].replace("{path}", "./{name}")),
    ],
)
@pytest.mark.parametrize(
    ("name", "why"),
    [("own.json", "its name ends in .json"), ("own", "its name has no suffix")],
)
def test_a_regular_file_is_refused_by_its_name(
    read: Callable[[str], Any],
    text: str,
    name: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / name).write_text("{}")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        read(f"./{name}")
    assert str(error.value) == text.format(name=name, why=why)


@pytest.mark.parametrize(
    ("name", "why"),
    [("host.jsonl", "its name ends in .jsonl"), ("host", "its name has no suffix")],
)
@pytest.mark.parametrize("here", [True, False])
def test_a_regular_file_is_no_host_unless_its_name_ends_in_json(
    name: str, why: str, here: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text("{}")
    monkeypatch.chdir(tmp_path)
    path = name if here else str(tmp_path / name)
    with pytest.raises(InputError) as error:
        host(path)
    assert str(error.value) == (
        f"--host '{path}': {why}: expected the host.json that `ridgepoint calibrate fit FOLDER` "
        "writes, or a host's name (`ridgepoint hosts`); fit the folder of the host's "
        "measurements, or give a host's file a name that ends in .json"
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_the_key_of_a_stored_trace_does_not_read_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "nets.py"
    os.mkfifo(path)
    assert source_digests(path) == {"nets.py": "unreadable"}

"""GPUs from a user's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.errors import InputError
from simulator.hardware.gpu import PACKAGED, gpu, gpus
from tests.simulator.own_gpu import MINE, written

pytestmark = pytest.mark.usefixtures("folder")


# A user's own


def test_own_file_by_path(tmp_path: Path) -> None:
    path = written(tmp_path / "mine.toml", MINE)
    assert gpu(path) == gpu(str(path))
    assert gpu(path).id == "mine"
    assert gpu(path).unsourced == ("memory_gib", "bandwidth_gbytes_per_s", "tensor_tflops.bf16")


def test_an_edited_file_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path / "mine.toml", MINE)
    assert gpu(path).bandwidth_bytes_per_s == 1500e9
    written(path, MINE.replace("1500", "20000"))
    assert gpu(path).bandwidth_bytes_per_s == 20000e9


def test_own_file_in_the_folder(folder: Path) -> None:
    written(folder / "my_gpu.toml", 'aliases = ["the new one"]' + MINE)
    assert gpu("MY-GPU") == gpu("the new one") == gpu("mine") == gpus()[-1]
    assert len(gpus()) == len([*PACKAGED.glob("*.toml")]) + 1


def test_own_file_in_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RIDGEPOINT_GPUS")

    def config(*_: object) -> str:
        return str(tmp_path)

    monkeypatch.setattr("platformdirs.user_config_dir", config)
    written(tmp_path / "gpus" / "my_gpu.toml", MINE)
    assert gpu("my_gpu").name == "Mine"


def test_sources_of_an_own_file(tmp_path: Path) -> None:
    text = MINE + 'fp16 = 312\n[sources]\n"the data sheet" = ["memory_gib", "tensor_tflops"]\n'
    mine = gpu(written(tmp_path / "mine.toml", text))
    assert mine.sources == {
        "memory_gib": "the data sheet",
        "tensor_tflops.fp16": "the data sheet",
        "tensor_tflops.bf16": "the data sheet",
    }
    assert mine.unsourced == ("bandwidth_gbytes_per_s",)


def test_missing_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIDGEPOINT_GPUS", str(tmp_path / "none"))
    with pytest.raises(InputError) as caught:
        gpus()
    assert str(caught.value) == (
        f"RIDGEPOINT_GPUS is {str(tmp_path / 'none')!r}: expected a folder of TOML files; "
        "create it or unset it"
    )


@pytest.mark.parametrize(
    ("file", "text", "name", "owner"),
    [
        ("t4.toml", MINE, "t4", "t4"),
        ("H200.toml", MINE, "H200", "h200_sxm"),
        ("x.toml", 'aliases = ["A100"]' + MINE, "A100", "a100_sxm_80"),
    ],
)
def test_a_name_taken_twice(folder: Path, file: str, text: str, name: str, owner: str) -> None:
    path = written(folder / file, text)
    with pytest.raises(InputError) as caught:
        gpus()
    assert str(caught.value) == (
        f"{path}: the name {name!r} is taken by {PACKAGED / owner}.toml: expected ids "
        "(file names), names and aliases to be unique; rename one"
    )

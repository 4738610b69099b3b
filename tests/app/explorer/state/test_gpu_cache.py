"""The stored list of GPUs equals their files, and is read again after any of them changes."""

from pathlib import Path

import pytest

from app.answers.gpu_list import ListedGpu, listed_gpus
from app.explorer.state import gpu_cache
from app.explorer.state.gpu_cache import stored_gpus
from simulator.hardware import gpu


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An empty state folder and a folder for own GPUs; an entry for each time that all files are
    read."""
    monkeypatch.setenv("RIDGEPOINT_STATE", str(tmp_path / "state"))
    (tmp_path / "own").mkdir()
    monkeypatch.setenv("RIDGEPOINT_GPUS", str(tmp_path / "own"))
    read = list[str]()

    def counted() -> tuple[ListedGpu, ...]:
        read.append("all")
        return listed_gpus()

    monkeypatch.setattr(gpu_cache, "listed_gpus", counted)
    return read


def test_the_stored_list_equals_the_files_and_is_read_once(reads: list[str]):
    first = stored_gpus()
    assert first == listed_gpus() and reads == ["all"]
    assert [each.id for each in first] == [each.id for each in gpu.gpus()]
    h200 = next(each for each in first if each.id == "h200_sxm")
    assert h200.peak_flops_per_s == gpu.gpu("h200_sxm").peak("tensor", "bf16")
    assert stored_gpus() == first and reads == ["all"]


def test_a_new_a_changed_and_a_removed_file_are_seen(reads: list[str], tmp_path: Path):
    count = len(stored_gpus())
    text = (gpu.PACKAGED / "h200_sxm.toml").read_text("utf-8")
    own = tmp_path / "own" / "my_card.toml"
    for name in ("My card", "My other card"):
        lines = [f'name = "{name}"' if li.startswith("name =") else li for li in text.splitlines()]
        lines = [line for line in lines if not line.startswith("aliases")]
        own.write_text("\n".join(lines), "utf-8")
        assert [each.name for each in stored_gpus() if each.id == "my_card"] == [name]
    own.unlink()
    assert len(stored_gpus()) == count and reads == ["all"] * 4


@pytest.mark.parametrize("text", ["", "{", "[]", '{"stamps": {}, "gpus": []}'])
def test_a_damaged_list_is_read_again(reads: list[str], tmp_path: Path, text: str):
    expected = stored_gpus()
    (tmp_path / "state" / "gpus.json").write_text(text, "utf-8")
    assert stored_gpus() == expected and reads == ["all", "all"]

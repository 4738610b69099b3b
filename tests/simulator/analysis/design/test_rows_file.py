"""The file of rows: append-only, with checksums, for one design, written by one process at a
time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from simulator.analysis.design.design import Design, design, predict_points, summed
from simulator.analysis.design.engines import Chunk, EngineLostError, Task, local
from simulator.analysis.design.network_files import changed_files, network_files
from simulator.analysis.design.rows_file import RowsFile
from simulator.analysis.design.run import chunks, run
from simulator.errors import InputError
from simulator.scenario.scenario import Scenario

SMALL = design(Scenario("mlp-tiny"), {"gpu": ["h100", "h200"], "batch": range(1, 41)})


def here(task: Task, parts: Iterable[Chunk]) -> Iterator:
    return local(1, task, parts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows"


def fill(path: Path, of: Design = SMALL) -> None:
    with RowsFile(path, of) as file:
        run(file, here)


def held(path: Path) -> tuple[list[int], int]:
    with RowsFile(path, SMALL) as file:
        return [point for part in file.parts for point in part.points], file.damaged


def test_all_rows_are_there_once_and_as_predicted(path: Path):
    fill(path)
    points, damaged = held(path)
    assert sorted(points) == list(range(80)) and not damaged
    with RowsFile(path, SMALL) as file:
        rows = summed(file.parts)
    np.testing.assert_allclose(rows.table, predict_points(SMALL, SMALL.points).table, rtol=1e-12)


def test_a_full_file_is_left_as_it_is(path: Path):
    fill(path)
    before = path.read_bytes()
    fill(path)
    assert path.read_bytes() == before


def test_it_is_only_appended_to(path: Path):
    with RowsFile(path, SMALL) as file:
        file.append(predict_points(SMALL, range(30)))
    before = path.read_bytes()
    fill(path)
    assert path.read_bytes().startswith(before)


@pytest.mark.parametrize("cut", [1, 2, 40, 500])
def test_a_line_that_a_crash_cut_is_predicted_again(path: Path, cut: int):
    fill(path)
    path.write_bytes(path.read_bytes()[:-cut])
    fill(path)
    points, damaged = held(path)
    assert sorted(points) == list(range(80))
    assert damaged == (0 if cut == 1 else 1)  # the first cut removes only the end of the line


def test_a_damaged_byte_costs_its_line_alone(path: Path):
    fill(path)
    lines = path.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b"1", b"2", 1)
    path.write_bytes(b"\n".join(lines))
    points, damaged = held(path)
    assert damaged == 1 and len(points) == 80 - 20
    fill(path)
    assert sorted(held(path)[0]) == list(range(80))


def test_duplicate_rows_are_stored_once(path: Path):
    with RowsFile(path, SMALL) as file:
        file.append(predict_points(SMALL, range(10)))
        file.append(predict_points(SMALL, range(5, 15)))
    assert held(path)[0] == list(range(15))


def test_rows_without_an_answer_keep_their_reason(path: Path):
    long = design(Scenario("gpt2"), {"gpu": ["h100"], "seq": [1024, 4096]})
    fill(path, long)
    with RowsFile(path, long) as file:
        assert [*file.parts[0].refused] == [1] and "1024" in file.parts[0].refused[1]
        assert np.isnan(file.parts[0].table[1, 0])


def refusal(path: Path, of: Design = SMALL) -> str:
    with pytest.raises(InputError) as error:
        RowsFile(path, of)
    return str(error.value)


def test_a_file_of_something_else_is_refused_and_not_touched(path: Path):
    fill(path)
    other = design(Scenario("mlp-tiny"), {"gpu": ["h100"], "batch": [1]})
    before = path.read_bytes()
    assert refusal(path, other) == (
        f"--into {path}: holds rows of another design: expected rows of this sweep; name another "
        "file"
    )
    assert path.read_bytes() == before
    path.write_text("gpu,batch\n")
    assert refusal(path) == (
        f"--into {path}: not a file of rows: expected a file that a sweep has written, or a new "
        f"file; name another file"
    )
    assert path.read_text() == "gpu,batch\n"


def test_rows_of_another_release_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch):
    fill(path)
    monkeypatch.setattr("simulator.analysis.design.rows_file.release", lambda: "another")
    assert refusal(path) == (
        f"--into {path}: holds rows of another release of Ridgepoint: expected rows of this sweep; "
        "name another file"
    )


NET = """
import torch
from blocks import WIDTH

class Net(torch.nn.Linear):
    def __init__(self): super().__init__(WIDTH, WIDTH)
    def example_inputs(self, batch=1): return (torch.empty(batch, WIDTH),)
"""


def test_rows_of_a_network_that_was_edited_are_refused(path: Path, tmp_path: Path):
    """The edited file is the network's or one that it imports; the first network is from the
    catalogue.
    """
    net, blocks = tmp_path / "net.py", tmp_path / "blocks.py"
    net.write_text(NET)
    blocks.write_text("WIDTH = 8")
    own = design(Scenario("mlp-tiny"), {"network": ["mlp-tiny", f"{net}:Net"], "batch": [1]})
    with RowsFile(path, own) as file:
        file.append(predict_points(own, [0]))
    before = path.read_bytes()
    blocks.write_text("WIDTH = 16")
    expected = (
        f"--into {path}: {{}} changed after its rows were predicted: expected the same files; "
        "restore them, or name another file of rows"
    )
    assert refusal(path, own) == expected.format("blocks.py")
    net.write_text(NET + "# edited")
    assert refusal(path, own) == expected.format("blocks.py, net.py")
    assert path.read_bytes() == before
    net.write_text(NET)
    blocks.write_text("WIDTH = 8")
    with RowsFile(path, own) as file:
        assert file.missing() == [1]


@pytest.mark.parametrize(("name", "network"), [
    ("config.json", "hf:{}"), ("net.rpt.json", "{}/net.rpt.json"),
])  # fmt: skip
def test_a_configuration_and_a_saved_trace_have_a_digest(tmp_path: Path, name: str, network: str):
    network = network.format(tmp_path)
    (tmp_path / name).write_text("{}")
    before = network_files(design(Scenario(network), {"batch": [1]}))
    assert {key: [*files] for key, files in before.items()} == {network: [name]}
    (tmp_path / name).write_text("{ }")
    after = network_files(design(Scenario(network), {"batch": [1]}))
    assert changed_files(before, after) == [name]


def test_a_file_that_is_being_written_is_refused(path: Path):
    with RowsFile(path, SMALL):
        assert refusal(path) == (
            f"--into {path}: another process is writing it: expected one at a time; wait for it, "
            "or name another file"
        )
    fill(path)  # the file is no longer locked


def test_a_folder_is_refused(tmp_path: Path):
    assert refusal(tmp_path) == (
        f"--into {tmp_path}: cannot write: Is a directory: expected a file; name another"
    )


class Dying:
    """An engine that, each time it is started, returns a number of chunks and then ends."""

    def __init__(self, brings: int, deaths: int) -> None:
        self.brings, self.deaths, self.starts = brings, deaths, 0

    def __call__(self, task: Task, parts: Iterable[Chunk]) -> Iterator:
        self.starts += 1
        dies = self.starts <= self.deaths
        for number, chunk in enumerate(parts):
            if dies and number == self.brings:
                raise EngineLostError("a process ended")
            yield task(chunk)


def test_parts_of_an_ended_process_are_predicted_again(path: Path):
    engine = Dying(brings=1, deaths=2)
    with RowsFile(path, SMALL) as file:
        run(file, engine)
    assert engine.starts == 3
    assert sorted(held(path)[0]) == list(range(80))


def test_an_engine_without_further_rows_ends_the_sweep(path: Path):
    """Two chunks of 20 rows, then nothing: their rows stay, and another engine completes the
    sweep."""
    engine = Dying(brings=2, deaths=1)
    with RowsFile(path, SMALL) as file, pytest.raises(InputError) as error:
        run(file, lambda task, parts: engine(task, parts) if engine.starts == 0 else _never())
    assert str(error.value) == (
        f"--engine local: no scheduler responds: 40 of 80 rows are in {path}; run the same command "
        "again to continue"
    )
    assert held(path)[0] == list(range(40))
    fill(path)
    assert held(path)[0] == list(range(80))


def _never() -> Iterator:
    raise EngineLostError("no scheduler responds")
    yield


def test_progress_counts_the_rows_that_were_there(path: Path):
    with RowsFile(path, SMALL) as file:
        file.append(predict_points(SMALL, range(40)))
    seen: list[tuple[int, int]] = []
    with RowsFile(path, SMALL) as file:
        run(file, here, lambda done, total, left_s: seen.append((done, total)))
    assert seen == [(60, 80), (80, 80)]


def test_chunks_are_small_enough_to_share():
    assert [len(c) for c in chunks(range(100))] == [16] * 6 + [4]
    assert [len(c) for c in chunks(range(3200))] == [100] * 32
    assert {len(c) for c in chunks(range(262_144))} == {4_096}


def test_chunks_are_whole_blocks_or_equal_parts_of_one():
    assert [len(c) for c in chunks(range(100), 40)] == [20, 20, 20, 20, 20]
    assert {len(c) for c in chunks(range(100_000), 2_500)} == {2_500}
    assert {len(c) for c in chunks(range(300_000), 10_000)} == {5_000}
    assert {len(c) for c in chunks(range(132_000), 1_000)} == {4_000}
    rest = [*range(7, 40), *range(95, 100)]
    assert list(chunks(rest, 40)) == [rest[:20], rest[20:33], rest[33:]]


def test_points_of_a_block_differ_only_in_batch_and_sequence():
    axes = {"batch": [1, 2, 3], "gpu": ["h100", "h200"], "seq": [64, 128]}
    whole = design(Scenario("bert-base"), axes)
    assert whole.block == 6
    assert {whole.values(point)["gpu"] for point in range(6)} == {"h100"}
    assert design(Scenario("bert-base"), axes, sample=4).block == 1
    assert design(Scenario("bert-base"), {"gpu": ["h100", "h200"]}).block == 1

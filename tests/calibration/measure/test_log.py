"""Samples survive truncated and changed lines, killed processes, full disks and other GPUs."""

import errno
import gzip
import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from calibration.measure.log import Log, decoded, encoded, read
from simulator.errors import InputError

HEADER = {
    "gpu": "NVIDIA H200",
    "sheet": "h200_sxm",
    "torch": "2.11.0",
    "cuda": "13.0",
    "cudnn": 91900,
    "triton": "3.6.0",
    "cpu": "one",
}
ROOT = Path(__file__).parents[3]


def row(n: int, **fields: Any) -> dict[str, Any]:
    return {
        "point": {"operation": "add", "params": {"n": n}},
        **(fields or {"warm": {"median_s": n}}),
    }


def filled(path: Path, count: int) -> None:
    with Log(path, HEADER) as log:
        for n in range(count):
            log.write(row(n))


def test_a_line_is_its_checksum_and_json() -> None:
    text = b'{"a":1}'
    assert encoded({"a": 1}) == f"{zlib.crc32(text):08x} ".encode() + text + b"\n"
    assert decoded(encoded({"a": 1})) == {"a": 1}


@pytest.mark.parametrize("line", [b"", b"\n", b"00000000 {}\n", b"not a line\n", b'{"a":1}\n'])
def test_other_lines_say_nothing(line: bytes) -> None:
    assert decoded(line) is None


def test_every_changed_byte_is_seen() -> None:
    line = encoded(row(7))
    for place in range(len(line)):
        changed = line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]
        assert decoded(changed) is None, changed


def test_written_samples_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "samples.jsonl"
    filled(path, 3)
    parsed = read(path)
    assert parsed.header == {"version": 1, **HEADER}
    assert list(parsed.samples) == ["add(n=0)", "add(n=1)", "add(n=2)"]
    assert parsed.measured == parsed.without_kernels == set(parsed.samples)
    packed = tmp_path / "samples.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed) == parsed


def test_later_lines_add_and_replace(tmp_path: Path) -> None:
    with Log(tmp_path / "s.jsonl", HEADER) as log:
        log.write({"process": {"host_index": {"adds": 1.0}}})
        log.write({"reference": {"copy_s": 2.0}})
        log.write(row(1, failed="OutOfMemoryError: x"))
        log.write(row(2, failed="OutOfMemoryError: y"))
        log.write(row(1, warm={"median_s": 3.0}))
        log.write(row(1, kernels=[["k", 1.0, 2.0]]))
        log.write(row(1, warm={"median_s": 4.0}, drifted=True))
    parsed = read(tmp_path / "s.jsonl")
    assert parsed.samples["add(n=1)"] == row(
        1, warm={"median_s": 4.0}, kernels=[["k", 1.0, 2.0]], drifted=True
    )
    assert parsed.failed == {"add(n=2)": "OutOfMemoryError: y"}
    assert parsed.measured == {"add(n=1)", "add(n=2)"} and not parsed.without_kernels
    assert parsed.processes == [{"host_index": {"adds": 1.0}}]
    assert parsed.references == [{"copy_s": 2.0}]
    assert log.measurements == parsed


def test_a_torn_last_line_is_dropped_wherever_it_tore(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    filled(path, 3)
    whole = path.read_bytes()
    last = len(encoded(row(2)))
    for missing in range(1, last):
        path.write_bytes(whole[:-missing])
        with Log(path, HEADER) as log:
            assert log.measurements.measured == {"add(n=0)", "add(n=1)"}
            assert log.dropped_bytes == last - missing
            log.write(row(2))
        assert path.read_bytes() == whole


def test_a_corrupt_last_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    filled(path, 2)
    raw = path.read_bytes()
    path.write_bytes(raw[:-3] + b"#" + raw[-2:])
    with Log(path, HEADER) as log:
        assert log.measurements.measured == {"add(n=0)"} and log.measurements.corrupt_lines == []


def test_a_corrupt_line_in_the_middle_is_numbered(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    filled(path, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b"\0" * 40 + b"\r\n"  # the header is line 1
    path.write_bytes(b"".join(lines))
    with Log(path, HEADER) as log:
        assert log.measurements.corrupt_lines == [3]
        assert log.measurements.measured == {"add(n=0)", "add(n=2)"}
    assert path.read_bytes() == b"".join(lines)


def test_a_truncated_header_is_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    filled(path, 0)
    header = path.read_bytes()
    for length in range(len(header)):
        path.write_bytes(header[:length])
        Log(path, HEADER).close()
        assert path.read_bytes() == header


@pytest.mark.parametrize("text", ["a file of the user's own\n", "a file without an end of line"])
def test_another_file_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=r"line 1 is not a header: expected .* Move the file away"):
        Log(path, HEADER)
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("key", "value"), [("gpu", "NVIDIA A100"), ("torch", "2.12.0"), ("triton", None)]
)
def test_another_gpu_or_version_is_refused(tmp_path: Path, key: str, value: Any) -> None:
    path = tmp_path / "s.jsonl"
    filled(path, 1)
    with pytest.raises(InputError) as caught:
        Log(path, {**HEADER, key: value})
    assert (
        f"measured with {key} {HEADER[key]!r}, but this process has {value!r}: expected one"
        in str(caught.value)
    )
    assert "Name another folder" in str(caught.value)


def test_another_cpu_matters_only_where_the_host_is_measured(tmp_path: Path) -> None:
    filled(tmp_path / "gpu.jsonl", 1)
    Log(tmp_path / "gpu.jsonl", {**HEADER, "cpu": "two"}).close()
    Log(tmp_path / "host.jsonl", {"gpu": None, "cpu": "one"}).close()
    with pytest.raises(InputError, match="measured with cpu 'one', but this process has 'two'"):
        Log(tmp_path / "host.jsonl", {"gpu": None, "cpu": "two"})


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(encoded({"header": {"version": 9}}) + encoded(row(1)))
    for opened in (read, lambda path: Log(path, HEADER)):
        with pytest.raises(InputError, match=r"format 9, expected 1: .* another folder"):
            opened(path)


def test_unreadable_files(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl.gz").write_bytes(gzip.compress(b"x" * 999)[:-9])
    for name in ("s.jsonl.gz", "none.jsonl"):
        with pytest.raises(InputError, match=r"cannot be read: .*calibrate measure"):
            read(tmp_path / name)
    (tmp_path / "s.jsonl").write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        read(tmp_path / "s.jsonl")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written: .*name another folder"):
        Log(tmp_path / "file" / "s.jsonl", HEADER)


def test_two_processes_do_not_share_a_log(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Log(path, HEADER), pytest.raises(InputError, match="another process measures into it"):
        Log(path, HEADER)
    Log(path, HEADER).close()


class FullDisk:
    """A file on a disk with room for `room` bytes."""

    def __init__(self, file: Any, room: int, code: int = errno.ENOSPC) -> None:
        self.file, self.room, self.code = file, room, code

    def write(self, data: bytes) -> int:
        if self.room == 0:
            raise OSError(self.code, os.strerror(self.code))
        written_bytes = self.file.write(data[: self.room])
        self.room -= written_bytes
        return written_bytes

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@pytest.mark.parametrize("room", [0, 1, 9, 30])
def test_a_full_disk_loses_nothing(tmp_path: Path, room: int) -> None:
    path = tmp_path / "s.jsonl"
    log = Log(path, HEADER)
    log.write(row(1))
    before = path.read_bytes()
    file = log.file
    log.file = FullDisk(file, room)  # pyright: ignore
    with pytest.raises(InputError, match=r"expected .* free bytes\. .* Free space and run"):
        log.write(row(2))
    assert path.read_bytes() == before
    assert log.measurements.measured == {"add(n=1)"}
    log.file = file
    log.write(row(2))
    log.close()
    assert list(read(path).samples) == ["add(n=1)", "add(n=2)"]


def test_another_failure_of_the_disk(tmp_path: Path) -> None:
    with Log(tmp_path / "s.jsonl", HEADER) as log:
        log.file = FullDisk(log.file, 0, errno.EIO)  # pyright: ignore
        with pytest.raises(InputError, match=r"cannot be written: .*are kept"):
            log.write(row(1))


KILLED = """
import os, sys
from pathlib import Path
from calibration.measure.log import Log

def write(path):
    with Log(path, {"gpu": "x"}) as log:
        begin = len(log.measurements.samples)
        for n in range(begin, 10**9):
            point = {"operation": "add", "params": {"n": n}}
            log.write({"point": point, "warm": "w" * (n * 37 % 9999)})
            if n == begin + 5:
                print(os.getpid(), flush=True)

for _ in sys.stdin:  # each line asks for another process, which writes until it is killed
    child = os.fork()
    if child == 0:
        write(Path(sys.argv[1]))
    os.waitpid(child, 0)
    print("killed", flush=True)
"""


def test_kill_9_loses_one_line_at_most(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    written_samples = 0
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        for _ in range(3):
            print(file=parent.stdin, flush=True)
            os.kill(int(parent.stdout.readline()), signal.SIGKILL)
            assert parent.stdout.readline() == "killed\n"
            lines = path.read_bytes().split(b"\n")
            with Log(path, {"gpu": "x"}) as log:
                measurements = log.measurements
            assert measurements.corrupt_lines == []
            assert [s["point"]["params"]["n"] for s in measurements.samples.values()] == [
                *range(len(measurements.samples))
            ]  # none twice, none missing
            assert (
                len(measurements.samples) >= len(lines) - 2 >= written_samples + 6
            )  # a header and a truncated last line
            written_samples = len(measurements.samples)

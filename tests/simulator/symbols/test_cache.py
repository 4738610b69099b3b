"""Traces on disk: found by content, replaced if truncated, and bounded in size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulator.hardware.gpu import gpu
from simulator.records import Trace
from simulator.symbols.cache import TraceCache, key
from simulator.tracing import trace
from tests.simulator.conftest import small

H200, A100 = gpu("h200"), gpu("a100")


@pytest.fixture(scope="module")
def new_trace() -> Trace:
    return trace(*small("mlp-tiny"))


class Maker:
    """Counts the requests for a trace."""

    def __init__(self, new_trace: Trace) -> None:
        self.made, self.calls = new_trace, 0

    def __call__(self) -> Trace:
        self.calls += 1
        return self.made


def test_the_second_time_it_is_read(tmp_path: Path, new_trace: Trace) -> None:
    make = Maker(new_trace)
    for _ in range(3):
        assert TraceCache(tmp_path / "deep" / "er").get("a", make) == new_trace
    assert make.calls == 1
    assert [p.name for p in (tmp_path / "deep" / "er").iterdir()] == ["a.trace"]


@pytest.mark.parametrize("content", [b"", b"not a trace", b"{}", None])
def test_invalid_cache_files_are_overwritten(
    tmp_path: Path, new_trace: Trace, content: bytes | None
) -> None:
    cache, make = TraceCache(tmp_path), Maker(new_trace)
    cache.get("a", make)
    path = tmp_path / "a.trace"
    path.write_bytes(path.read_bytes()[:-9] if content is None else content)
    assert cache.get("a", make) == new_trace and make.calls == 2
    assert cache.get("a", make) == new_trace and make.calls == 2


def test_a_folder_that_cannot_be_written_costs_nothing_else(
    tmp_path: Path, new_trace: Trace
) -> None:
    (tmp_path / "file").write_text("in the way")
    make = Maker(new_trace)
    assert TraceCache(tmp_path / "file" / "cache").get("a", make) == new_trace and make.calls == 1


def test_those_used_longest_ago_go_first(tmp_path: Path, new_trace: Trace) -> None:
    TraceCache(tmp_path).get("a", Maker(new_trace))
    each = (tmp_path / "a.trace").stat().st_size
    cache = TraceCache(tmp_path, limit_bytes=3 * each)
    for age, name in enumerate(["b", "c"]):
        cache.get(name, Maker(new_trace))
        os.utime(tmp_path / f"{name}.trace", (age, age))
    os.utime(tmp_path / "a.trace", (9, 9))
    cache.get("b", Maker(new_trace))  # the oldest entry, which is used now
    (tmp_path / "other.txt").write_text("not ours")
    cache.get("d", Maker(new_trace))
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "a.trace",
        "b.trace",
        "d.trace",
        "other.txt",
    ]
    TraceCache(tmp_path, limit_bytes=1).get("e", Maker(new_trace))
    assert [p.name for p in tmp_path.glob("*.trace")] == ["e.trace"]  # the newest entry stays


def test_the_key_covers_the_whole_request() -> None:
    base = key("bert-base", H200, batch=1, sizes={"width": 64, "layers": 2})
    assert base == key("bert-base", H200, sizes={"layers": 2, "width": 64}, batch=1)
    others = [
        key("bert-large", H200, batch=1, sizes={"width": 64, "layers": 2}),
        key("bert-base", A100, batch=1, sizes={"width": 64, "layers": 2}),
        key("bert-base", H200, batch=2, sizes={"width": 64, "layers": 2}),
        key("bert-base", H200, batch=1, sizes={"width": 64, "layers": 3}),
        key("bert-base", H200, batch=1, seq=1, sizes={"width": 64, "layers": 2}),
    ]
    assert len({base, *others}) == 6 and len(base) == 64


def test_the_key_covers_a_file_and_its_imports(tmp_path: Path) -> None:
    net, beside, package = tmp_path / "net.py", tmp_path / "parts.py", tmp_path / "more"
    package.mkdir()
    net.write_text("import os\nimport parts\nfrom more import deep\n")
    beside.write_text("A = 1\n")
    (package / "__init__.py").write_text("")
    (package / "deep.py").write_text("B = 1\n")
    (tmp_path / "unrelated.py").write_text("C = 1\n")

    def now() -> str:
        return key(f"{net}:make", H200, batch=1)

    before = now()
    assert now() == before
    (tmp_path / "unrelated.py").write_text("C = 2\n")
    assert now() == before
    seen = {before}
    for path in (net, beside, package / "deep.py"):
        path.write_text(path.read_text() + "D = 1\n")
        seen.add(now())
    assert len(seen) == 4
    net.write_text("this is no Python")
    assert now() not in seen


def test_a_configuration_is_in_the_key(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"layers": 1}')
    before = key(f"hf:{tmp_path}", H200)
    assert (
        key(f"hf:{config}", H200) != before
    )  # another spelling of the name may have a separate entry
    config.write_text('{"layers": 2}')
    assert key(f"hf:{tmp_path}", H200) != before


def test_a_key_and_a_read_need_no_torch(tmp_path: Path, new_trace: Trace) -> None:
    TraceCache(tmp_path).get(key("mlp-tiny", H200, batch=4), Maker(new_trace))
    code = """
import sys
from simulator.hardware.gpu import gpu
from simulator.symbols.cache import TraceCache, key
def never():
    raise AssertionError("traced")
assert TraceCache(sys.argv[1]).get(key("mlp-tiny", gpu("h200"), batch=4), never).ops
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)

"""The code of the device guard is compiled once, and again if the compiled file does not load. The
tests compile a small function: they check when the compiler runs.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from simulator.inductor import cuda_guard
from simulator.inductor.refusal import RefusalError

COMPILER = shutil.which("c++") or shutil.which("g++")
TINY = 'extern "C" int install_cuda_guard() { return 1; }\n'
WORDS = """#!/bin/sh
echo again >> {log}
while [ "$1" != -o ]; do shift; done
{make} "$2"
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "log"


def compiler(log: Path, make: str) -> None:
    script = log.with_name("c++")
    script.write_text(WORDS.format(log=log, make=make))
    script.chmod(0o755)


def compiled(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.mark.skipif(COMPILER is None, reason="has no C++ compiler")
def test_one_that_does_not_load_is_compiled_again(log: Path) -> None:
    source = log.with_name("tiny.cpp")
    source.write_text(TINY)
    compiler(log, f"{COMPILER} -shared -fPIC {source} -o")
    library = cuda_guard._library()
    library.parent.mkdir(parents=True)
    library.write_bytes(b"of a torch that is gone")
    cuda_guard.install()
    assert compiled(log) == 1
    assert library.read_bytes()[:4] == b"\x7fELF"
    cuda_guard.install()
    assert compiled(log) == 1


def test_a_guard_that_never_loads_is_refused_and_not_cached(log: Path) -> None:
    compiler(log, "echo torn >")
    with pytest.raises(RefusalError, match=r"cuda_guard-.*\.so does not fit this torch: "):
        cuda_guard.install()
    assert compiled(log) == 1
    assert not cuda_guard._library().exists()


def test_another_torch_has_its_own_device_guard(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cuda_guard._library()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libc10.so").touch()
    monkeypatch.setattr(cuda_guard, "_torch_folder", lambda: tmp_path)
    assert cuda_guard._library() != first


def test_without_a_compiler(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(log.parent))
    message = r"no C\+\+ compiler \(c\+\+, g\+\+, clang\+\+\) found on the PATH"
    with pytest.raises(RefusalError, match=message):
        cuda_guard.install()

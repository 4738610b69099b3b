"""A CUDA device that does nothing, for a build of torch without CUDA: compiled from
`cuda_guard.cpp` against the headers of torch's wheel, once for each version of torch."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from platformdirs import user_cache_dir

from simulator.formats.present import is_file
from simulator.inductor.refusal import RefusalError

_SOURCE = Path(__file__).with_name("cuda_guard.cpp")
_COMPILERS = ("c++", "g++", "clang++")
_LIMIT_S = 120


def install() -> None:
    """Load the device into this process, before torch is imported. A library that does not load
    (truncated, or built for another torch) is compiled again.

    Raises RefusalError if it cannot be compiled, or still does not load.
    """
    library = _library()
    if is_file(library):
        try:
            return _load(library)
        except (OSError, AttributeError):
            library.unlink(missing_ok=True)
    _compile(library)
    try:
        _load(library)
    except (OSError, AttributeError) as error:
        library.unlink(missing_ok=True)
        raise RefusalError(f"{library.name} does not fit this torch: {error}") from error


def _load(library: Path) -> None:
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL).install_cuda_guard()


def _torch_folder() -> Path:
    spec = find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise RefusalError("torch is not installed")
    return Path(spec.submodule_search_locations[0])


def _library() -> Path:
    """The file of the device, named by its source and by torch's version, folder and build time."""
    torch = _torch_folder()
    core = torch / "lib" / "libc10.so"
    built = core.stat().st_mtime_ns if core.is_file() else 0
    digest = hashlib.sha256(_SOURCE.read_bytes() + f"{torch} {built}".encode()).hexdigest()[:12]
    folder = Path(user_cache_dir("ridgepoint", appauthor=False)) / "inductor"
    return folder / f"cuda_guard-{version('torch')}-{digest}.so"


def _compile(target: Path) -> None:
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        raise RefusalError(
            f"no C++ compiler ({', '.join(_COMPILERS)}) found on the PATH; install one"
        )
    torch = _torch_folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    command = [
        compiler,
        "-shared",
        "-fPIC",
        "-std=c++20",
        f"-I{torch / 'include'}",
        str(_SOURCE),
        "-o",
        str(part),
        f"-L{torch / 'lib'}",
        "-lc10",
        "-ltorch_cpu",
        f"-Wl,-rpath,{torch / 'lib'}",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S)
        if done.returncode:
            last = done.stderr.strip().splitlines() or ["no message"]
            raise RefusalError(f"{Path(compiler).name} cannot compile {_SOURCE.name}: {last[0]}")
        part.replace(target)
    except subprocess.TimeoutExpired as error:
        raise RefusalError(f"{Path(compiler).name} took more than {_LIMIT_S} s") from error
    finally:
        part.unlink(missing_ok=True)

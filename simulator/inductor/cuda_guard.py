"""A CUDA device that does nothing, for a build of torch that has none: compiled once a version of
torch from `cuda_guard.cpp`, against the headers in torch's own wheel."""

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

from simulator.inductor.refusal import RefusalError

_SOURCE = Path(__file__).with_name("cuda_guard.cpp")
_COMPILERS = ("c++", "g++", "clang++")
_LIMIT_S = 120


def install() -> None:
    """Load the device into this process, before torch is imported. RefusalError where it cannot be
    compiled."""
    library = _compiled()
    try:
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL).install_cuda_guard()
    except (OSError, AttributeError) as error:
        library.unlink(missing_ok=True)
        raise RefusalError(f"{library.name} does not fit this torch: {error}") from error


def _torch_folder() -> Path:
    found = find_spec("torch")
    if found is None or not found.submodule_search_locations:
        raise RefusalError("torch is not installed")
    return Path(found.submodule_search_locations[0])


def _compiled() -> Path:
    folder = Path(user_cache_dir("ridgepoint", appauthor=False)) / "inductor"
    source = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:12]
    target = folder / f"cuda_guard-{version('torch')}-{source}.so"
    if target.is_file():
        return target
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        raise RefusalError(f"no C++ compiler ({', '.join(_COMPILERS)}) was found on the PATH")
    torch = _torch_folder()
    folder.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    command = [
        compiler, "-shared", "-fPIC", "-std=c++20", f"-I{torch / 'include'}", str(_SOURCE),
        "-o", str(part), f"-L{torch / 'lib'}", "-lc10", "-ltorch_cpu",
        f"-Wl,-rpath,{torch / 'lib'}",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S)
        if done.returncode:
            last = done.stderr.strip().splitlines() or ["no message"]
            raise RefusalError(f"{Path(compiler).name} cannot compile {_SOURCE.name}: {last[0]}")
        part.replace(target)
    except subprocess.TimeoutExpired as error:
        raise RefusalError(f"{Path(compiler).name} took over {_LIMIT_S} s") from error
    finally:
        part.unlink(missing_ok=True)
    return target

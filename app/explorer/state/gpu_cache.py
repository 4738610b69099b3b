"""The list of GPUs, stored in the state folder: reading their files takes longer than the first
prediction of a new window."""

from __future__ import annotations

from pathlib import Path

import msgspec

from app.answers.gpu_list import ListedGpu, listed_gpus
from app.explorer.state.places import folder, put
from simulator.formats.present import Stamp, files, stamp
from simulator.hardware import gpu, gpu_file


class _Stored(msgspec.Struct):
    """A list with the stamps of the files that it was read from."""

    stamps: dict[str, Stamp | None]
    gpus: tuple[ListedGpu, ...]


def stored_gpus() -> tuple[ListedGpu, ...]:
    """Every GPU; their files are read only if one of them has changed since the list was stored.
    Raises InputError as `gpus` does."""
    stamps, path = _stamps(), folder() / "gpus.json"
    try:
        stored = msgspec.json.decode(path.read_bytes(), type=_Stored)
        if stored.stamps == stamps:
            return stored.gpus
    except (OSError, msgspec.MsgspecError):
        pass
    listed = listed_gpus()
    put(path, msgspec.json.encode(_Stored(stamps, listed)).decode())
    return listed


def _stamps() -> dict[str, Stamp | None]:
    """The stamps of the GPUs' files, and of the modules that read them."""
    modules = [Path(str(module.__file__)) for module in (gpu, gpu_file)]
    paths = [*files(gpu.PACKAGED, "*.toml"), *files(gpu.users(), "*.toml"), *modules]
    return {str(path): stamp(path) for path in paths}

"""The process that runs a user's file once and lists the networks that it defines.

    python -m app.explorer.background.factories FILE [NAME]

writes one `FileFactories` as JSON to standard output.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec

from simulator.errors import InputError
from simulator.isolated.limits import Limits, confine
from simulator.networks.loading.factories import Factory, factories
from simulator.networks.loading.load import load


class ChosenFactory(msgspec.Struct, frozen=True):
    """The factory that is opened, with the default sizes of its inputs; None for a size that the
    inputs do not have."""

    name: str
    batch: int | None
    seq: int | None


class FileFactories(msgspec.Struct, frozen=True):
    """The factories of a file. `chosen` is the named factory, or the only one that needs no
    arguments and has inputs; `refused` is the reason why the file cannot be opened, or ""."""

    factories: tuple[Factory, ...] = ()
    chosen: ChosenFactory | None = None
    refused: str = ""


def list_factories(path: Path, name: str = "") -> FileFactories:
    """Run a file and list its factories."""
    if find_spec("torch") is None:
        return FileFactories(refused=_without_torch(path))
    try:
        listed = factories(path)
        ready = [factory.name for factory in listed if not factory.required]
        whole = {factory.name for factory in listed if not factory.without_inputs}
        ready = [each for each in ready if each in whole] or ready
        name = name or (ready[0] if len(ready) == 1 else "")
        if name:
            return FileFactories(listed, _choose(path, name))
    except InputError as error:
        return FileFactories(refused=str(error))
    except Exception as error:  # the user's code may raise anything
        return FileFactories(
            refused=f"{path.name} raised {type(error).__name__}: {error}; expected a "
            "file that runs without errors; correct the file"
        )
    if ready:
        return FileFactories(listed)
    signatures = ", ".join(f"{factory.name}{factory.signature}" for factory in listed)
    return FileFactories(
        refused=f"{path.name} has no factory that can be called without arguments: "
        f"{signatures}; expected at least one; give the arguments of one factory default values"
    )


def _without_torch(path: Path) -> str:
    """The reason why a file cannot be opened without torch. A bundle does not contain torch."""
    if getattr(sys, "frozen", False):
        return (
            f"{path.name} needs torch, which this bundle does not contain: expected a built-in "
            'network or a saved trace; for networks of your own: pip install "ridgepoint[gui]"'
        )
    return (
        f"{path.name} needs torch, which is not installed: expected torch; pip install "
        '"torch>=2.11,<2.14"'
    )


def _choose(path: Path, name: str) -> ChosenFactory:
    facts = load(f"{path}:{name}").facts
    return ChosenFactory(name, facts.batch, facts.seq)


def main() -> None:
    """Write the factories of the file in `sys.argv`; redirect the file's own output to standard
    error, and limit its use of the machine."""
    confine(Limits())
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    path, name = Path(sys.argv[1]), "".join(sys.argv[2:3])
    out.write(msgspec.json.encode(list_factories(path, name)))


if __name__ == "__main__":
    main()

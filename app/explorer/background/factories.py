"""The process that runs a user's file once, to say which networks it offers.

    python -m app.explorer.background.factories FILE [NAME]

writes one `Offered` as JSON on its standard output.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from simulator.errors import InputError
from simulator.networks.factories import Factory, factories
from simulator.networks.loading import load


class Taken(msgspec.Struct, frozen=True):
    """The one factory that is opened, and the sizes that its inputs have of themselves; None where
    they take no such size."""

    name: str
    batch: int | None
    seq: int | None


class Offered(msgspec.Struct, frozen=True):
    """The factories of a file. `taken` where one was named, or one alone can be called without
    arguments; `refused` says why there is none."""

    factories: tuple[Factory, ...] = ()
    taken: Taken | None = None
    refused: str = ""


def offered(path: Path, name: str = "") -> Offered:
    """What a file offers; runs the file."""
    try:
        found = factories(path)
        ready = [each.name for each in found if not each.required]
        name = name or (ready[0] if len(ready) == 1 else "")
        if name:
            return Offered(found, _taken(path, name))
    except InputError as error:
        return Offered(refused=str(error))
    except Exception as error:  # the user's code may raise anything
        return Offered(
            refused=f"{path.name} raised {type(error).__name__}: {error}; expected a "
            "file that runs; correct the file"
        )
    if ready:
        return Offered(found)
    signatures = ", ".join(f"{each.name}{each.signature}" for each in found)
    return Offered(
        refused=f"{path.name} has no factory that can be called without arguments: "
        f"{signatures}; expected one; give its arguments defaults"
    )


def _taken(path: Path, name: str) -> Taken:
    facts = load(f"{path}:{name}").facts
    return Taken(name, facts.batch, facts.seq)


def main() -> None:
    """Write what the file of the arguments offers; what the file prints goes to standard error."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    path, name = Path(sys.argv[1]), "".join(sys.argv[2:3])
    out.write(msgspec.json.encode(offered(path, name)))


if __name__ == "__main__":
    main()

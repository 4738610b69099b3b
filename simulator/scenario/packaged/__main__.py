"""Update the packaged families that other code traced: `python -m simulator.scenario.packaged`.

Arguments are patterns of names, such as `bert-base` or `*.bf16.inference.*`; without any, all are
updated. A file whose stamp is current is left alone. Other files are compared with fresh traces,
and fitted again if one differs.
"""

from __future__ import annotations

import sys
import time
from fnmatch import fnmatchcase

from simulator.scenario.packaged.contents import name_of, omission, requests
from simulator.scenario.packaged.index import read_index
from simulator.scenario.packaged.making import current, drop_others, make


def main(patterns: list[str]) -> None:
    """Update the files that patterns match, and print a line for each."""
    for request, card in requests():
        name = f"{name_of(request)}.{card}"
        chosen = not patterns or any(
            fnmatchcase(name, pattern) or request.network == pattern for pattern in patterns
        )
        if not chosen or omission(name) is not None or current(name, request.network):
            continue
        began_s = time.perf_counter()
        how = make(request, card)
        entry = read_index().entries.get(name)
        size = f"{entry.file} {entry.half}, " if entry else ""
        print(f"{name}: {how}, {size}{time.perf_counter() - began_s:.0f} s", flush=True)
    drop_others()


if __name__ == "__main__":
    main(sys.argv[1:])

"""Make the packaged families again: `python -m app.examples [NETWORK …]`."""

from __future__ import annotations

import sys
import time
from tempfile import TemporaryDirectory

from app.examples import asks, file, line
from simulator.scenario.trace_source import keep_on_disk, make, stored_families


def main(names: list[str]) -> None:
    """Fit what is named (a network, or a file's name), or all. A minute for a small network,
    several for a large one."""
    with TemporaryDirectory() as folder:
        keep_on_disk(folder)
        for ask, gpu in asks():
            path = file(ask, gpu)
            if names and ask.network not in names and path.name not in names:
                continue
            began = time.perf_counter()
            make(ask, gpu, line(ask))
            path.write_bytes(stored_families(ask, gpu, line(ask)).read_bytes())
            print(
                f"{path.name}: {path.stat().st_size:,} bytes, {time.perf_counter() - began:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])

"""Make the packaged families again: `python -m app.examples [NETWORK …]`."""

from __future__ import annotations

import sys
import time
from tempfile import TemporaryDirectory

from app.examples import file, line, scenarios
from simulator.whatif.setting import setting
from simulator.whatif.tracing_ask import keep_on_disk, make, stored_families


def main(names: list[str]) -> None:
    """Fit what is named, or all. A minute for a small network, several for a large one."""
    with TemporaryDirectory() as folder:
        keep_on_disk(folder)
        for scenario in scenarios():
            if names and scenario.network not in names:
                continue
            began = time.perf_counter()
            found = setting(scenario)
            make(found.ask, found.gpu, line(found.ask))
            path = file(found.ask)
            path.write_bytes(stored_families(found.ask, found.gpu, line(found.ask)).read_bytes())
            print(f"{path.name}: {path.stat().st_size:,} bytes, "
                  f"{time.perf_counter() - began:.0f} s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])

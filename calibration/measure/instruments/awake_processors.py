"""Keep all processors from sleeping, so that a thread starts on another one without a wake-up."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

_SPIN = "import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"
"""Runs only when nothing else needs the processor."""


@contextmanager
def awake(wanted: bool = True) -> Generator[None]:
    """Run one process of the lowest priority for each processor, if `wanted`."""
    count = (os.cpu_count() or 1) if wanted else 0
    spinning = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for one in spinning:
            one.kill()
            one.wait()

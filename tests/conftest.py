"""Tests keep no traces in the user's cache, unless they name a folder, and see no GPUs of the
user's own."""

import gc
import os
import tempfile

os.environ.setdefault("RIDGEPOINT_TRACES", "off")
_CONFIG = tempfile.TemporaryDirectory(prefix="ridgepoint-tests-")
os.environ["XDG_CONFIG_HOME"] = _CONFIG.name


def pytest_collection_finish() -> None:
    """Imported modules and collected tests live to the end: the garbage collector need not visit
    them each time that a trace allocates a few thousand records."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_unconfigure() -> None:
    """Let the interpreter free everything at its end."""
    gc.unfreeze()

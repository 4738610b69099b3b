"""Tests store no traces in the user's cache, unless they name a folder, and ignore the user's own
GPUs.
"""

import gc
import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

pytest_plugins = ["tests.layers"]

os.environ.setdefault("RIDGEPOINT_TRACES", "off")
if "PYTEST_XDIST_WORKER" in os.environ:
    # each worker, with its child processes, has one core: more threads of torch and of numpy would
    # wait for each other in loops, which doubles the time of small networks on the CPU
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
_CONFIG = tempfile.TemporaryDirectory(prefix="ridgepoint-tests-")
os.environ["XDG_CONFIG_HOME"] = _CONFIG.name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests in this folder itself first: they start processes that take several seconds,
    and at the end of a worker's queue the other worker would wait for them."""
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Search for no garbage while modules are imported and tests are collected: all of these live
    on, and searches take a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Freeze imported modules and collected tests, which live to the end: the garbage collector
    then does not visit them each time that a trace allocates a few thousand records.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(trylast=True)  # pytest's own hook collects the garbage of the last tests
def pytest_unconfigure() -> None:
    """Unfreeze, so that the interpreter frees everything at its end."""
    gc.unfreeze()

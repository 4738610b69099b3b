"""The explorer says what is missing where Qt would end the process."""

import ctypes
import sys

import pytest

from app.widgets import display
from simulator.errors import InputError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X is asked on Linux")


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)


def test_no_display() -> None:
    with pytest.raises(InputError) as refused:
        display.need_display()
    assert str(refused.value) == (
        "there is no display: expected DISPLAY or WAYLAND_DISPLAY to name a screen; start it on a "
        "desktop, or ask without a window: `ridgepoint predict` takes the same options"
    )


@pytest.mark.parametrize("name", ["QT_QPA_PLATFORM", "WAYLAND_DISPLAY"])
def test_what_is_chosen_otherwise_is_qts_to_judge(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "offscreen")
    display.need_display()


def test_a_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(display, "_LIBRARIES", {"libnowhere.so.0": "libnowhere0"})
    with pytest.raises(InputError, match=r"Qt needs libnowhere\.so\.0 .*; install libnowhere0, or"):
        display.need_display()


def test_all_missing_libraries_are_named_with_the_way_to_get_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")  # Qt's own choice for X: it would abort
    missing = {"libno-cursor.so.0": "libno-cursor0", "libno-icccm.so.4": "libno-icccm4"}
    monkeypatch.setattr(display, "_LIBRARIES", missing)
    with pytest.raises(InputError) as refused:
        display.need_display()
    assert str(refused.value) == (
        "Qt needs libno-cursor.so.0, libno-icccm.so.4 to open a window, which are not installed: "
        "expected them beside the X server (on Debian and Ubuntu: `sudo apt install libno-cursor0 "
        "libno-icccm4`); install libno-cursor0 libno-icccm4, or ask without a window: `ridgepoint "
        "predict` takes the same options"
    )


def test_what_qts_plugin_for_x_loads_is_looked_for() -> None:
    assert {"libxcb-cursor.so.0", "libxcb-icccm.so.4", "libxcb-keysyms.so.1"} <= set(
        display._LIBRARIES
    )


def test_a_display_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        for library in display._LIBRARIES:
            ctypes.CDLL(library)
    except OSError:
        pytest.skip("the X libraries are not installed")
    monkeypatch.setenv("DISPLAY", ":987")
    with pytest.raises(InputError, match="the display :987 does not answer: expected an X server"):
        display.need_display()

"""The explorer reports what is missing before Qt aborts the process."""

import ctypes
import sys

import pytest

from app.widgets import display
from simulator.errors import InputError

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the app connects to X only on Linux"
)


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)


def test_no_display() -> None:
    with pytest.raises(InputError) as refused:
        display.need_display()
    assert str(refused.value) == (
        "no display: expected DISPLAY or WAYLAND_DISPLAY to be set; start the explorer on a "
        "desktop, or use `ridgepoint predict`, which takes the same options and needs no window"
    )


@pytest.mark.parametrize("name", ["QT_QPA_PLATFORM", "WAYLAND_DISPLAY"])
def test_other_platforms_are_left_to_qt(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "offscreen")
    display.need_display()


def test_a_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(display, "_LIBRARIES", {"libnowhere.so.0": "libnowhere0"})
    with pytest.raises(
        InputError, match=r"libnowhere\.so\.0 is missing: .*; install libnowhere0 \("
    ):
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
        "libno-cursor.so.0, libno-icccm.so.4 are missing: Qt needs them to open a window; install "
        "libno-cursor0 libno-icccm4 (on Debian and Ubuntu: `sudo apt install libno-cursor0 "
        "libno-icccm4`), or use `ridgepoint predict`, which takes the same options and needs no "
        "window"
    )


def test_libraries_of_qts_plugin_for_x_are_checked() -> None:
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
    with pytest.raises(InputError, match="the display :987 does not respond: expected an X server"):
        display.need_display()

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


def test_a_display_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        for library in display._LIBRARIES:
            ctypes.CDLL(library)
    except OSError:
        pytest.skip("the X libraries are not installed")
    monkeypatch.setenv("DISPLAY", ":987")
    with pytest.raises(InputError, match="the display :987 does not answer: expected an X server"):
        display.need_display()

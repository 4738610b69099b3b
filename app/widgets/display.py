"""Is there a screen on which Qt can open a window? Qt itself ends the process where there is none.

On Linux an X server is asked as Qt would ask it: through libxcb, with the libraries beside it that
Qt's plugin needs and that a desktop does not always have (the cursor's since 6.5).
"""

from __future__ import annotations

import ctypes
import os
import sys

from simulator.errors import InputError

INSTEAD = "or ask without a window: `ridgepoint predict` takes the same options"
_LIBRARIES = {
    "libxcb.so.1": "libxcb1", "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4", "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1", "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0", "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-xkb.so.1": "libxcb-xkb1", "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}  # fmt: skip
"""What is loaded, and the package that has it on Debian and Ubuntu (readelf -d of Qt's libqxcb)."""


def need_display() -> None:
    """InputError where no window can be shown."""
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    if not sys.platform.startswith("linux") or platform not in ("", "xcb"):
        return
    if os.environ.get("WAYLAND_DISPLAY") and not platform:
        return
    display = os.environ.get("DISPLAY")
    if not display:
        raise InputError(
            "there is no display: expected DISPLAY or WAYLAND_DISPLAY to name a screen; start it "
            f"on a desktop, {INSTEAD}"
        )
    loaded = {library: _loaded(library) for library in _LIBRARIES}
    missing = [library for library, found in loaded.items() if found is None]
    if missing:
        raise InputError(_missing(missing))
    xcb = loaded.get("libxcb.so.1")
    if xcb is not None and not _answers(xcb):
        raise InputError(
            f"the display {display} does not answer: expected an X server there; correct DISPLAY, "
            f"{INSTEAD}"
        )


def _loaded(library: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(library)
    except OSError:
        return None


def _missing(libraries: list[str]) -> str:
    """Which packages have them, and how to get these."""
    packages = " ".join(_LIBRARIES[library] for library in libraries)
    are, them = ("is", "it") if len(libraries) == 1 else ("are", "them")
    return (
        f"Qt needs {', '.join(libraries)} to open a window, which {are} not installed: expected "
        f"{them} beside the X server (on Debian and Ubuntu: `sudo apt install {packages}`); "
        f"install {packages}, {INSTEAD}"
    )


def _answers(xcb: ctypes.CDLL) -> bool:
    """Can the server that DISPLAY names be connected to?"""
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    fine = not xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return fine

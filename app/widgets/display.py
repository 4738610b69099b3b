"""Check for a display before Qt opens a window: without one, Qt aborts the process.

On Linux, connect to the X server as Qt does, through libxcb, and look for the libraries that Qt's
plugin needs and some desktops lack (libxcb-cursor since Qt 6.5)."""

from __future__ import annotations

import ctypes
import os
import sys

from simulator.errors import InputError

INSTEAD = "or use `ridgepoint predict`, which takes the same options and needs no window"
_LIBRARIES = {
    "libxcb.so.1": "libxcb1", "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4", "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1", "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0", "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-xkb.so.1": "libxcb-xkb1", "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}  # fmt: skip
"""Libraries and their Debian and Ubuntu packages (from `readelf -d` of Qt's libqxcb)."""


def need_display() -> None:
    """Raises InputError if no window can be shown."""
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    if not sys.platform.startswith("linux") or platform not in ("", "xcb"):
        return
    if os.environ.get("WAYLAND_DISPLAY") and not platform:
        return
    display = os.environ.get("DISPLAY")
    if not display:
        raise InputError(
            "no display: expected DISPLAY or WAYLAND_DISPLAY to be set; start the explorer on a "
            f"desktop, {INSTEAD}"
        )
    loaded = {library: _loaded(library) for library in _LIBRARIES}
    missing = [name for name, library in loaded.items() if library is None]
    if missing:
        raise InputError(_missing(missing))
    xcb = loaded.get("libxcb.so.1")
    if xcb is not None and not _responds(xcb):
        raise InputError(
            f"the display {display} does not respond: expected an X server; correct DISPLAY, "
            f"{INSTEAD}"
        )


def _loaded(library: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(library)
    except OSError:
        return None


def _missing(libraries: list[str]) -> str:
    """The error for missing libraries, with the packages to install."""
    packages = " ".join(_LIBRARIES[library] for library in libraries)
    are = "is" if len(libraries) == 1 else "are"
    return (
        f"{', '.join(libraries)} {are} missing: Qt needs {'it' if are == 'is' else 'them'} to open "
        f"a window; install {packages} (on Debian and Ubuntu: `sudo apt install {packages}`), "
        f"{INSTEAD}"
    )


def _responds(xcb: ctypes.CDLL) -> bool:
    """Whether the server that DISPLAY names accepts a connection."""
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    connected = not xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return connected

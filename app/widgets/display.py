"""Is there a screen on which Qt can open a window? Qt itself ends the process where there is none.

On Linux an X server is asked as Qt would ask it: through libxcb, with the cursor's library beside
it, which Qt's plugin needs since 6.5.
"""

from __future__ import annotations

import ctypes
import os
import sys

from simulator.errors import InputError

INSTEAD = "or ask without a window: `ridgepoint predict` takes the same options"
_LIBRARIES = {"libxcb.so.1": "libxcb1", "libxcb-cursor.so.0": "libxcb-cursor0"}
"""What is loaded, and the package that has it on Debian and Ubuntu."""


def need_display() -> None:
    """InputError where no window can be shown."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return
    if os.environ.get("WAYLAND_DISPLAY"):
        return
    display = os.environ.get("DISPLAY")
    if not display:
        raise InputError(
            "there is no display: expected DISPLAY or WAYLAND_DISPLAY to name a screen; start it "
            f"on a desktop, {INSTEAD}"
        )
    loaded: dict[str, ctypes.CDLL] = {}
    for library, package in _LIBRARIES.items():
        try:
            loaded[library] = ctypes.CDLL(library)
        except OSError:
            raise InputError(
                f"Qt needs {library} to open a window, which is not installed: expected it beside "
                f"the X server; install {package}, {INSTEAD}"
            ) from None
    if not _answers(loaded["libxcb.so.1"]):
        raise InputError(
            f"the display {display} does not answer: expected an X server there; correct DISPLAY, "
            f"{INSTEAD}"
        )


def _answers(xcb: ctypes.CDLL) -> bool:
    """Can the server that DISPLAY names be connected to?"""
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    fine = not xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return fine

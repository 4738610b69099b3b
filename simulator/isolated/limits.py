"""Limits on the process that runs a user's code."""

from __future__ import annotations

import os
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SHARE_OF_MEMORY = 0.75
_CLONE_NEWUSER, _CLONE_NEWNET, _PR_SET_PDEATHSIG = 0x10000000, 0x40000000, 1  # Linux's headers
_SIOCSIFFLAGS, _IFF_UP_AND_RUNNING = 0x8914, 0x41


@dataclass(frozen=True)
class Limits:
    """Memory in bytes (None: three quarters of the machine's), and the bytes of each file that is
    written. On Windows no limit applies, and on macOS none on memory."""

    memory_bytes: int | None = None
    file_bytes: int = 2**30


def confine(limits: Limits) -> None:
    """Apply limits to this process, which must have one thread, and to its child processes.

    On Linux the process is also killed when its parent ends, is the first to be killed when memory
    runs out, and has no network but its own loopback if the system permits that.
    """
    try:
        import resource  # not on Windows
    except ImportError:
        return
    memory_bytes = limits.memory_bytes or int(_physical_bytes() * _SHARE_OF_MEMORY)
    for kind, limit in (
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        _, most = resource.getrlimit(kind)
        allowed = limit if most == resource.RLIM_INFINITY else min(limit, most)
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (allowed, allowed))
    if sys.platform == "linux":
        _end_with_parent_and_leave_network()


def _physical_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _end_with_parent_and_leave_network() -> None:
    import ctypes  # imported here because it takes 10 ms
    from signal import SIGKILL

    libc: Any = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, SIGKILL)
    _write("oom_score_adj", "1000")
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWNET) != 0:  # root may do this, other users only in a user namespace
        if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
            return
        for name, text in (
            ("uid_map", f"{user} {user} 1"),
            ("setgroups", "deny"),
            ("gid_map", f"{group} {group} 1"),
        ):
            _write(name, text)
    with suppress(OSError):
        _loopback()


def _write(name: str, text: str) -> None:
    with suppress(OSError):
        Path("/proc/self", name).write_text(text, "ascii")


def _loopback() -> None:
    """Switch on the loopback device, which one-process groups of torch.distributed use."""
    import fcntl  # Windows does not have it
    import socket  # `--help` does not need it

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        request = struct.pack("16sh22x", b"lo", _IFF_UP_AND_RUNNING)
        fcntl.ioctl(device, _SIOCSIFFLAGS, request)

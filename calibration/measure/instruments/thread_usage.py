"""The operating system's counters for the calling thread: processor time, sleeps, new threads."""

from __future__ import annotations

import ctypes
import os
import resource
from pathlib import Path

_C = ctypes.CDLL(None)
_TASKS = Path("/proc/self/task")


def read_text(path: str) -> str:
    """The text of a system file, or "" if it does not exist."""
    try:
        return Path(path).read_text("utf-8").strip()
    except OSError:
        return ""


def counters() -> dict[str, float]:
    """Totals since the start, for differences.

    user_s, system_s      processor time of this thread
    sleeps, preemptions   context switches of this thread, voluntary and not
    faults                minor page faults of this thread
    process_s             processor time of all threads of this process
    queued_s              time in which this thread was runnable but did not run
    system_threads        threads and processes that the system has started
    throttled_s           time in which the control group had used up its share
    """
    own, process = (resource.getrusage(who) for who in (resource.RUSAGE_THREAD, 0))
    scheduled = read_text("/proc/thread-self/schedstat").split()
    started = read_text("/proc/loadavg").split()
    group = [line.split() for line in read_text("/sys/fs/cgroup/cpu.stat").splitlines()]
    throttled = {fields[0]: fields[-1] for fields in group if fields}
    return {
        "user_s": own.ru_utime,
        "system_s": own.ru_stime,
        "sleeps": own.ru_nvcsw,
        "preemptions": own.ru_nivcsw,
        "faults": own.ru_minflt,
        "process_s": process.ru_utime + process.ru_stime,
        "queued_s": int(scheduled[1]) * 1e-9 if len(scheduled) > 1 else 0.0,
        "system_threads": int(started[4]) if len(started) > 4 else 0,
        "throttled_s": int(throttled.get("throttled_usec", 0)) * 1e-6,
    }


def difference(later: dict[str, float], earlier: dict[str, float]) -> dict[str, float]:
    """The increase of each total between two readings."""
    return {name: round(later[name] - earlier[name], 9) for name in later}


def threads_ticks() -> dict[str, int]:
    """Processor time of each thread of this process in the system's ticks (1/100 s), by name."""
    ticks: dict[str, int] = {}
    for task in _TASKS.iterdir() if _TASKS.is_dir() else ():
        head, _, rest = read_text(f"{task}/stat").rpartition(")")
        name, fields = head.partition("(")[2], rest.split()
        if len(fields) > 12:
            ticks[f"{name}/{task.name}"] = int(fields[11]) + int(fields[12])
    return ticks


def processor() -> int:
    """The processor on which this thread runs."""
    return int(_C.sched_getcpu())


def system() -> dict[str, object]:
    """The processors, and how the system lets them sleep."""
    idle = "/sys/devices/system/cpu/cpuidle"
    model = [x for x in read_text("/proc/cpuinfo").splitlines() if x.startswith("model name")]
    return {
        "processors": os.cpu_count(),
        "model": model[0].partition(": ")[2] if model else "",
        "kernel": os.uname().release,
        "idle_driver": read_text(f"{idle}/current_driver"),
        "idle_governor": read_text(f"{idle}/current_governor"),
        "limit": read_text("/sys/fs/cgroup/cpu.max"),
        "siblings": read_text("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"),
        "clock": read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }

"""The hooks that PyTorch's profiler leaves in a process: after its first session the driver calls
hooks at every call, although nothing is recorded, so each launch takes longer.

`calibration.record.write` times all cases before it profiles any. Older recordings profiled each
case before they timed the next one, its eager version and its rounds; they are compared with
predictions for a host with the hooks. Normal training and serving run without them.
"""

from __future__ import annotations

import msgspec

from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host

PROFILED_LAUNCH_S = 3.9e-6
"""Additional seconds of a launch, on the default host. On a host that takes 0.72 times as long as
the default, the same loops of adds, scales, linear layers and norms took 1.9, 1.8, 3.8 and 4.0 µs
more per launch once the process had profiled. The eager versions of host-bound compiled inference
steps agree with this, on hosts that take 0.74 times (9 steps: 3.2 µs) and 1.0 times as long."""


def hooked(host: Host) -> Host:
    """The same host after the profiler has run in its process."""
    longer_s = PROFILED_LAUNCH_S * host.launch_s / find_host().launch_s
    return msgspec.structs.replace(
        host, seconds=host.seconds | {"launch": host.launch_s + longer_s}
    )

"""The tools of a measurement: the stopwatch, the profiler, NVML, and the fixed work that gives the
speed of the host.

May import sweeps and cases, but no measurement.
"""

"""The timed programs: a small server, the ranks of a step, calls of attention.

May import the other measurements, cases and the simulator.
"""

"""Networks of sequences: text and speech, with attention, recurrence or scans.

May import torch and what networks share; no other part of the simulator.
"""

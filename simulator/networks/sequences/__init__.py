"""Networks for sequences: text and speech, with attention, recurrence or scans.

May import torch and the modules that networks share; no other part of the simulator.
"""

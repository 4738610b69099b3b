"""The page of a step over several GPUs: its question, its answer, its splits and its words.

May import the other answers, progress, quantities and the simulator.
"""

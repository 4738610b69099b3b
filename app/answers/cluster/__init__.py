"""Data of the cluster page, a step on several GPUs: the question, the answer, the splits and the
texts.

May import the other answers, progress, quantities and the simulator.
"""

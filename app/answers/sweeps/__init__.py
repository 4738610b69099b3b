"""A scenario at many sizes: values of axes, sweeps, designs, regime maps and goals.

May import the other answers, progress, quantities and the simulator.
"""

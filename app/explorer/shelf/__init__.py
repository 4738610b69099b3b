"""The shelf of cards (networks, GPUs, hosts, what-ifs) that the user drags onto a scenario.

May import widgets and the explorer's state, but not its window.
"""

"""The step of a served network: its time, its parts and its interval, from traced steps.

May import the quantities and the spec of planning, and the dependencies of planning.
"""

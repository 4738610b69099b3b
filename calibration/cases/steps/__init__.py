"""The whole steps that are measured: the cases of each suite, loads of a server, several GPUs.

May import `case`, the networks and the calls.
"""

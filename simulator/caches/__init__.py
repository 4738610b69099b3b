"""Caches with an owner and a bound: by use (`lru`), by identity (`identity`), and with the object
that a value derives from (`derived`); garbage collection (`garbage`), room for call frames
(`frames`), and cancellation of long work (`cancelling`).

Imports nothing from Ridgepoint.
"""

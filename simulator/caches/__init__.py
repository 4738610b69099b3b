"""Caches with an owner and a bound: by use (`lru`), by identity (`identity`),
and with the object that a value derives from (`derived`).

Imports nothing of Ridgepoint.
"""

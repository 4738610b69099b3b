"""Caches with an owner and a bound: by use (`lru`), by identity (`identity`),
and with the object that a value derives from (`derived`); and the search for garbage (`garbage`).

Imports nothing of Ridgepoint.
"""

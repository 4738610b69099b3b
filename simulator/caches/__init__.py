"""Caches with an owner and a bound: by use (`lru`) and by identity (`identity`).

Imports nothing of Ridgepoint.
"""

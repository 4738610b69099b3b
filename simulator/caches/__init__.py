"""Caches with an owner and a bound: by use (`lru`), by identity (`identity`), and with the object
that a value derives from (`derived`); garbage collection (`garbage`), and room for the frames of
calls (`frames`).

Imports nothing from Ridgepoint.
"""

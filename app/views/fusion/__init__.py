"""Kernels by hand: ops pulled together and apart."""

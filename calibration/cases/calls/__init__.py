"""Calls of torch that are measured by themselves: attention, library calls, CUDA graph capture.

Imports only torch.
"""

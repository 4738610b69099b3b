"""Calls of torch that are measured alone: attention, library calls, CUDA graph capture.

Imports only torch.
"""

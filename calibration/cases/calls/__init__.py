"""Single torch calls to measure: attention, library calls, CUDA graph capture.

Imports only torch.
"""

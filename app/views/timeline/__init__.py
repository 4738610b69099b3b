"""The host over the GPU, in time."""

"""The layouts of tensors in memory: which ones are traced, and which ones CUDA's kernels return."""

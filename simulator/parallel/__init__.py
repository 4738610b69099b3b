"""A step over several GPUs: every distinct rank traced, scheduled together, predicted."""

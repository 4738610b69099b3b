"""A step over several GPUs: trace each distinct rank, schedule the ranks together, predict."""

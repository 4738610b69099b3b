"""What a training step keeps for its backward pass and what it computes again, decided by a minimum
cut as torch's partitioner decides it."""

from simulator.fusion.passes.budget import kept_within
from simulator.fusion.passes.joint import Joint
from simulator.fusion.passes.repeating import repeated, repeated_from

__all__ = ["Joint", "kept_within", "repeated", "repeated_from"]

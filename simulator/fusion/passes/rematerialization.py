"""The tensors that a training step keeps for its backward pass and those that it recomputes, by a
minimum cut like that of torch's partitioner."""

from simulator.fusion.passes.budget import saved_within
from simulator.fusion.passes.joint import Joint
from simulator.fusion.passes.repeating import repeated, repeated_from

__all__ = ["Joint", "saved_within", "repeated", "repeated_from"]

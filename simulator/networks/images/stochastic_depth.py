"""Stochastic depth: Huang et al. 2016, "Deep Networks with Stochastic Depth"."""

from torch import Tensor, nn


class StochasticDepth(nn.Module):
    """In training, drops the whole residual branch of a sample with probability p."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """[batch, ...] -> the same shape."""
        if not self.training or self.p == 0.0:
            return x
        keep = x.new_empty(x.shape[0], *(1 for _ in x.shape[1:])).bernoulli_(1.0 - self.p)
        return x * keep.div_(1.0 - self.p)

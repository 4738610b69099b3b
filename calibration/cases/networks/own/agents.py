"""Networks that learn from rewards and from pairs, as users write them by hand."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own
from simulator.networks.output import Output


def perceptron(inward: int, outward: int, width: int = 256) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inward, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, outward),
    )  # fmt: skip


class SoftActorCritic(Own):
    """Two critics with slowly following targets, and an actor that squashes its samples."""

    def __init__(self, state: int = 24, action: int = 6) -> None:
        super().__init__()
        self.sizes = (state, action)
        self.actor = perceptron(state, 2 * action)
        self.critics = nn.ModuleList(perceptron(state + action, 1) for _ in range(2))
        self.targets = copy.deepcopy(self.critics)
        self.targets.requires_grad_(False)
        self.log_alpha = nn.Parameter(torch.zeros(1))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        state, action = self.sizes
        last = self.random(batch, 1)
        states = (self.random(batch, state) for _ in range(2))
        return *states, self.random(batch, action).tanh(), last, torch.zeros_like(last)

    def sample(self, state: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = self.actor(state).chunk(2, dim=-1)
        spread = log_std.clamp(-5, 2).exp()
        raw = mean + spread * torch.randn_like(mean)
        action = torch.tanh(raw)
        log_p = -((raw - mean) ** 2) / (2 * spread**2) - spread.log() - 0.919
        log_p = log_p - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_p.sum(-1, keepdim=True)

    def forward(
        self, state: Tensor, after: Tensor, acted: Tensor, reward: Tensor, end: Tensor
    ) -> Any:
        if not self.training:
            return self.sample(state)[0]
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            action, log_p = self.sample(after)
            values = [critic(torch.cat([after, action], -1)) for critic in self.targets]
            goal = reward + 0.99 * (1 - end) * (torch.min(*values) - alpha * log_p)
        both = torch.cat([state, acted], -1)
        critics = sum(F.mse_loss(critic(both), goal) for critic in self.critics)
        action, log_p = self.sample(state)
        new = torch.min(*(critic(torch.cat([state, action], -1)) for critic in self.critics))
        actor = (alpha * log_p - new).mean()
        temperature = -(self.log_alpha * (log_p.detach() - 6.0)).mean()
        with torch.no_grad():
            for slow, fast in zip(
                self.targets.parameters(), self.critics.parameters(), strict=True
            ):
                slow.lerp_(fast, 0.005)
        return Output(action, critics + actor + temperature)


class Contrast(Own):
    """Two views of each picture are drawn together, and apart from all others of the batch."""

    def __init__(self, width: int = 64, side: int = 96) -> None:
        super().__init__()
        self.side = side
        layers: list[nn.Module] = []
        before = 3
        for factor in (1, 2, 4, 8):
            layers += [
                nn.Conv2d(before, factor * width, 3, 1, 1, bias=False),
                nn.BatchNorm2d(factor * width), nn.ReLU(), nn.MaxPool2d(2),
            ]  # fmt: skip
            before = factor * width
        self.encoder = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.project = nn.Sequential(
            nn.Linear(before, before), nn.BatchNorm1d(before), nn.ReLU(), nn.Linear(before, 128)
        )

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return tuple(self.random(batch, 3, self.side, self.side) for _ in range(2))

    def forward(self, first: Tensor, second: Tensor) -> Any:
        z = F.normalize(self.project(self.encoder(torch.cat([first, second]))), dim=1)
        if not self.training:
            return z
        near = z @ z.t() / 0.5
        itself = torch.eye(len(z), dtype=torch.bool, device=z.device)
        near = near.masked_fill(itself, -1e4)
        half = len(z) // 2
        other = torch.cat([torch.arange(half, len(z)), torch.arange(half)]).to(z.device)
        return Output(z, F.cross_entropy(near.float(), other))


class Prototypes(Own):
    """Few-shot learning: the class whose mean embedding is nearest; 20 classes of 5 + 15."""

    def __init__(self, width: int = 64, classes: int = 20) -> None:
        super().__init__()
        self.classes = classes
        layers: list[nn.Module] = []
        for inward in (3, width, width, width):
            layers += [nn.Conv2d(inward, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                       nn.MaxPool2d(2)]  # fmt: skip
        self.encoder = nn.Sequential(*layers, nn.Flatten())

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return (self.random(self.classes, 5 + batch, 3, 84, 84),)

    def forward(self, x: Tensor) -> Any:
        z = self.encoder(x.flatten(0, 1)).view(self.classes, x.shape[1], -1)
        means = z[:, :5].mean(1)
        queries = z[:, 5:].reshape(-1, z.shape[-1])
        apart = torch.cdist(queries.float(), means.float()).pow(2)
        goal = torch.arange(self.classes, device=x.device).repeat_interleave(x.shape[1] - 5)
        return self.result(apart.argmin(1), F.nll_loss(F.log_softmax(-apart, dim=1), goal))


AGENTS: dict[str, type[Own]] = {
    "soft-actor-critic": SoftActorCritic,
    "contrast": Contrast,
    "prototypes": Prototypes,
}
"""By name."""

"""Ridgepoint: how long a PyTorch network takes on a GPU, and why.

    from simulator import predict
    p = predict(module, (x,), gpu="h200")
    p.period_s, p.regime, p.shares

Imports neither the app nor calibration. Other modules are imported when a function needs them, so
that importing this package is fast; torch is imported only when a network is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.errors import InputError, RidgepointError

if TYPE_CHECKING:
    from torch import nn

    from simulator.cluster.cluster import Cluster
    from simulator.fusion.fused import Fused
    from simulator.hardware.gpu import GPU
    from simulator.hardware.host import Host
    from simulator.parallel.prediction import ParallelPrediction
    from simulator.planning import Plan
    from simulator.prediction import Prediction
    from simulator.records import Trace

__all__ = ["InputError", "RidgepointError", "plan", "predict", "predict_step", "trace"]


def trace(
    module: nn.Module,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Trace:
    """Trace the ops of one step; see `simulator.tracing.trace`."""
    from simulator.tracing import trace as run

    return run(module, args, kwargs, **options)


def predict(
    module: nn.Module,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    gpu: str | GPU = "h200",
    host: str | None = None,
    phase: str = "inference",
    mode: str = "eager",
    loss: Any = None,
    optimizer: str | None = "adamw",
    sizes: Mapping[str, int] | None = None,
    autocast: str | None = None,
) -> Prediction:
    """Predict the time of a step of `module` on `gpu`, without a GPU and without weights.

    phase      "inference" or "training" (forward, loss, backward, optimizer)
    mode       "eager", "cuda_graph", "compiled", or torch.compile's "reduce-overhead",
               "max-autotune" or "max-autotune-no-cudagraphs"
    loss       callable from outputs to a scalar tensor; default: `.loss`, else mean of squares
    optimizer  "adamw", "adamw_fused", "sgd" or None
    host       a host profile's name; default: the one the GPU was calibrated with
    sizes      results of data-dependent ops, such as {"nonzero": 640}
    autocast   "bf16" or "fp16": forward and loss under torch.autocast("cuda")

    Raises InputError, which states the wrong value, what was expected and how to correct it.
    """
    from simulator.hardware.gpu import gpu as find_gpu
    from simulator.modes import check_mode, run_of

    check_mode(mode)
    card = find_gpu(gpu) if isinstance(gpu, str) else gpu
    traced = trace(
        module,
        args,
        kwargs,
        phase=phase,
        loss=loss,
        optimizer=optimizer,
        gpu=card,
        sizes=sizes,
        autocast=autocast,
        run=run_of(mode),
    )
    return predict_trace(traced, gpu=card, host=host, mode=mode)


def predict_step(
    make: Callable[[int, int], Callable[[], object]],
    cluster: str | Cluster = "1xh200",
    host: str | Host | None = None,
    mode: str = "eager",
) -> ParallelPrediction:
    """Predict a whole step of a user's own program on the GPUs of a cluster.

    make       (rank, world_size) -> step, the program as torchrun runs it: DDP, fully_shard,
               parallelize_module, pipelining, dist.*; `step()` is one whole step
    cluster    "8xh200", an id listed by `ridgepoint clusters`, or a cluster's TOML file
    mode       "eager" or "cuda_graph"

    Raises InputError, which states the wrong value, what was expected and how to correct it.
    """
    from simulator.parallel.predict_step import predict_step as run

    return run(make, cluster, host, mode)


def plan(source: Path | str | Mapping[str, Any], **options: Any) -> Plan:
    """Plan which GPU to use, how many and at what cost, from a TOML file or mapping; see
    `simulator.planning.plan.plan`."""
    from simulator.planning.plan import plan as run

    return run(source, **options)


def predict_trace(
    traced: Trace | Fused,
    *,
    gpu: str | GPU = "h200",
    host: str | Host | None = None,
    mode: str = "eager",
) -> Prediction:
    """Predict an existing or loaded trace, or another prediction's `step`; needs no torch."""
    from simulator.hardware.gpu import gpu as find_gpu
    from simulator.hardware.host import Host
    from simulator.hardware.host import host as find_host
    from simulator.simulate.step import simulate
    from simulator.timing.profile import learned

    card = find_gpu(gpu) if isinstance(gpu, str) else gpu
    driver = host if isinstance(host, Host) else find_host(host)
    return simulate(traced, card, driver, learned(card.id), mode)

"""The group of processes that measure several GPUs of one machine."""

from __future__ import annotations

import os
from datetime import timedelta

import torch
import torch.distributed as dist


def join(rank: int, ranks: int, port: int, timeout_s: float = 600.0) -> None:
    """Give this process the GPU of its rank, and join NCCL's group of all ranks.

    A collective that hangs longer than `timeout_s` ends the process. NVLink multicast is off.
    """
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NCCL_NVLS_ENABLE="0")
    torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl",
        rank=rank,
        world_size=ranks,
        device_id=torch.device("cuda", rank),
        timeout=timedelta(seconds=timeout_s),
    )

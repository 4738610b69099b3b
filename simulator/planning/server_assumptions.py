"""The assumptions of a plan of a served network that are not varied, and what is not modelled."""

from __future__ import annotations

from math import ceil

from simulator.hardware.gpu import gpu
from simulator.planning.price_assumptions import of_eager_host, of_prices
from simulator.planning.result import Assumption, Row
from simulator.planning.server.replica import WARM_UP
from simulator.planning.server.requests import requests
from simulator.planning.spec import SERVERS, Spec
from simulator.planning.step.scenarios import weight_only
from simulator.planning.step.traced_step import sizes_of


def of_server(spec: Spec, row: Row) -> list[Assumption]:
    """The assumptions that are not varied, and what is not modelled."""
    engine = {
        "vllm": "captured steps with fused kernels and merged products; attention and "
        "float8 products as measured on cards of its compute capability",
        "tensorrt-llm": "kernels like vLLM's, and its own all-reduces; the host prepares "
        "an iteration during the previous one",
        "compiled+graph": "captured steps with torch.compile's fused kernels and merged products",
        "eager": "eager PyTorch, host as calibrated",
    }[row.engine]
    return [
        Assumption("engine", row.engine, engine),
        *_experts(spec),
        *_quantised(row),
        *_split(row),
        _arrivals(spec),
        Assumption("replicas", "drawn at random for each request", "no router is modelled"),
        *_full(spec),
        *of_eager_host(spec, row),
        *of_prices(spec, row),
        Assumption(
            "not modelled",
            "tokenizer, network, sampling, speculative decoding",
            "",
        ),
    ]


def _arrivals(spec: Spec) -> Assumption:
    """The assumption on arrivals; a trace may have too few requests for the percentile."""
    if spec.workload.requests_csv is None:
        return Assumption("arrivals", "Poisson", "queueing")
    count, percent = len(requests(spec, 0)), spec.limits.percentile
    needed = ceil(100 / (100 - percent) / (1 - WARM_UP))
    how = "queueing"
    if count < needed:
        how += f"; too few for {percent:g}% of first tokens: {needed:,} at least are needed"
    return Assumption("arrivals", f"the {count:,} of the trace", how)


def _full(spec: Spec) -> list[Assumption]:
    """The assumptions on a full cache and on the batching of sequences."""
    work = spec.workload
    if work.batching == "static":
        how = "a batch runs to its longest answer before the next one begins; prompts are padded"
        return [Assumption("batches", "static", how)]
    how = "vLLM's rule: the newest sequence starts again"
    if work.admission == "reserve":
        how = "your spec: a request enters when its whole length fits"
    return [Assumption("cache full", work.admission, how)]


def _experts(spec: Spec) -> list[Assumption]:
    """The assumption on how often the experts of a mixture are used."""
    if "experts" not in sizes_of(spec.workload.network):
        return []
    how = "tokens that choose the same experts make a step read fewer weights"
    return [Assumption("experts", "chosen with equal probability", how)]


def _quantised(row: Row) -> list[Assumption]:
    """The assumption on how the GPU of a row runs nvfp4."""
    if row.precision != "nvfp4":
        return []
    how = "weights and activations; products reach the same share of their peak as float8 products"
    if weight_only(gpu(row.gpu), row.precision):
        how = f"weights alone: {row.name} has no 4-bit products, and multiplies in 16 bits"
    return [Assumption("precision", "nvfp4", how)]


def _split(row: Row) -> list[Assumption]:
    rows: list[Assumption] = []
    if row.split > 1:
        how = "tensor parallelism; NCCL's collectives do not overlap with kernels"
        if row.engine in SERVERS:
            how += "; the engine's kernels run small all-reduces over NVLink"
        if row.expert_parallel:
            how = "each has whole experts, which are used equally; " + how
        if row.queues > 1:
            how = "each has its own sequences and whole experts; experts are used equally; two "
            how += "all-to-alls of NCCL exchange tokens and do not overlap with kernels"
        rows.append(Assumption("GPUs of a replica", f"{row.split}", how))
    if row.pools is not None:
        how = "the cache of a prompt is sent after its prefill; servers are drawn at random"
        rows.append(Assumption("prefill and decode servers", f"{row.pools[0]}:{row.pools[1]}", how))
    return rows

"""What-ifs of precision: of arithmetic, of weights and of the key-value cache."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.scenario.apply import whatif
from simulator.scenario.module_pattern import ALL
from simulator.scenario.parameters import Modules
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.trial import Trial
from simulator.whatif.edits.float4 import Float4
from simulator.whatif.edits.float8 import Float8
from simulator.whatif.edits.key_value_cache import CacheDtype
from simulator.whatif.edits.tensor_float import TensorFloat
from simulator.whatif.edits.weight_only_int import SmallWeights

Dtype = Literal["fp32", "tf32", "bf16", "fp16", "autocast", "autocast-fp16"]
_WIDE = ("fp32",)
_WIDER = ("fp32", "autocast", "autocast-fp16")
_DIFFERS = "what is computed"
_TENSOR_CORES = "tensor cores, and half the bytes"
_TYPES = {"int8": "8-bit integers", "int4": "4-bit integers", "fp8": "float8", "nvfp4": "NVFP4"}


@whatif(
    "precision",
    Trial("+precision=tf32", ("compute",), "float32 products on tensor cores", _DIFFERS, _WIDE),
    Trial("+precision=autocast", ("compute",), "products in bf16 on tensor cores", _DIFFERS, _WIDE),
    Trial("+precision=bf16", ("compute", "memory"), _TENSOR_CORES, _DIFFERS, _WIDER),
    Trial("+precision=fp16", ("compute", "memory"), _TENSOR_CORES, _DIFFERS, _WIDER),
    sentence="Compute in {dtype}",
)
def precision(
    resolved: ResolvedScenario, dtype: Dtype = "bf16", modules: Modules = ALL
) -> ResolvedScenario:
    """The dtype of weights and arithmetic, for the network or for the modules of a pattern. tf32
    keeps float32 and multiplies matrices in TF32; autocast keeps float32 weights."""
    if dtype == "tf32":
        return _tensor_float(resolved, modules)
    if modules == ALL:
        plain = tuple(e for e in resolved.edits if not isinstance(e, TensorFloat))
        resolved = replace(resolved, edits=plain)
        if dtype == resolved.request.dtype and not resolved.request.module_dtypes:
            return resolved
        return resolved.traced_otherwise("precision", dtype=dtype, module_dtypes=())
    if dtype.startswith("autocast"):
        raise InputError(
            f"precision: {dtype} of {modules!r}: expected fp32, bf16 or fp16 for a part of a "
            "network; apply autocast to the whole network"
        )
    others = tuple(pair for pair in resolved.request.module_dtypes if pair[0] != modules)
    pairs = tuple(sorted((*others, (modules, dtype))))
    return resolved.traced_otherwise("precision", module_dtypes=pairs)


def _tensor_float(resolved: ResolvedScenario, modules: str) -> ResolvedScenario:
    if resolved.request.saved or resolved.request.dtype == "fp32":
        return resolved.edited(TensorFloat(modules), _SAME_SHARE)
    if modules != ALL:
        raise InputError(
            f"precision: tf32 of {modules!r} in a network of {resolved.request.dtype}: expected "
            "fp32; apply precision=fp32 first"
        )
    plain = resolved.traced_otherwise("precision", dtype="fp32", module_dtypes=())
    return plain.edited(TensorFloat(modules), _SAME_SHARE)


_SAME_SHARE = "TF32 products reach the same share of their peak as half-precision products"


@whatif(
    "precision",
    Trial("+fp8", ("compute",), "tensor cores have a higher peak in float8", _DIFFERS),
    sentence="Run linear layers in float8",
)
def fp8(resolved: ResolvedScenario, modules: Modules = ALL) -> ResolvedScenario:
    """Linear layers in float8, with the kernels that quantise their operands tensor by tensor."""
    return resolved.edited(Float8(modules), _BOUND)


_BOUND = "float8: operands quantised by two kernels each; memory in training is an upper bound"


@whatif(
    "precision",
    Trial("+nvfp4", ("compute",), "tensor cores have a higher peak in 4 bits", _DIFFERS),
    sentence="Run linear layers in NVFP4",
)
def nvfp4(resolved: ResolvedScenario, modules: Modules = ALL) -> ResolvedScenario:
    """Linear layers in NVFP4: 4-bit values with an 8-bit scale per 16 values. One kernel per layer
    quantises its activations."""
    return resolved.edited(Float4(modules), _LIKE_FLOAT8)


_LIKE_FLOAT8 = "NVFP4: products reach the same share of their peak as float8 products"


@whatif(
    "precision",
    Trial("+weights=int8", ("memory",), "weights are read as 8-bit values", _DIFFERS),
    Trial("+weights=int4", ("memory",), "weights are read as 4-bit values", _DIFFERS),
    sentence=lambda a: f"Store weights as {_TYPES[a['dtype']]}",
)
def weights(
    resolved: ResolvedScenario,
    dtype: Literal["int8", "int4", "nvfp4"] = "int8",
    modules: Modules = ALL,
) -> ResolvedScenario:
    """Store weights of linear layers in 8 or 4 bits and multiply in the activations' dtype, by one
    kernel that converts the weights as it loads them."""
    if resolved.request.training:
        raise InputError(
            f"weights={dtype}: an optimizer cannot train integers: expected inference; predict "
            "inference instead"
        )
    return resolved.edited(SmallWeights(dtype, modules))


@whatif(
    "precision",
    Trial("+kv_cache=fp8", ("memory",), "the cache is read as 8-bit values", _DIFFERS),
    sentence=lambda a: f"Store keys and values in {_TYPES.get(a['dtype'], a['dtype'])}",
)
def kv_cache(
    resolved: ResolvedScenario, dtype: Literal["fp32", "bf16", "fp16", "fp8", "int8"] = "fp8"
) -> ResolvedScenario:
    """The dtype of cached keys and values. Attention still computes in the dtype of its queries."""
    others = tuple(e for e in resolved.edits if not isinstance(e, CacheDtype))
    if dtype == resolved.request.dtype:
        return replace(resolved, edits=others)
    return replace(resolved, edits=others).edited(
        CacheDtype(dtype), "attention reads a cache of another dtype at no extra cost"
    )

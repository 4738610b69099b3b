"""What if it computed, or kept its weights, in another precision?"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from simulator.errors import InputError
from simulator.scenario.apply import whatif
from simulator.scenario.module_pattern import ALL
from simulator.scenario.parameters import Modules
from simulator.scenario.resolved import ResolvedScenario
from simulator.whatif.edits.float8 import Float8
from simulator.whatif.edits.key_value_cache import CacheDtype
from simulator.whatif.edits.tensor_float import TensorFloat
from simulator.whatif.edits.weight_only_int import SmallWeights

Dtype = Literal["fp32", "tf32", "bf16", "fp16", "autocast", "autocast-fp16"]


@whatif("precision")
def precision(
    setting: ResolvedScenario, dtype: Dtype = "bf16", modules: Modules = ALL
) -> ResolvedScenario:
    """The dtype of weights and arithmetic, of the network or of the modules of a pattern; tf32
    keeps float32 and multiplies matrices in TF32, autocast keeps float32 weights."""
    if dtype == "tf32":
        return _tensor_float(setting, modules)
    if modules == ALL:
        plain = tuple(e for e in setting.edits if not isinstance(e, TensorFloat))
        setting = replace(setting, edits=plain)
        if dtype == setting.ask.dtype and not setting.ask.module_dtypes:
            return setting
        return setting.traced_otherwise("precision", dtype=dtype, module_dtypes=())
    if dtype.startswith("autocast"):
        raise InputError(
            f"precision: {dtype} of {modules!r}: expected fp32, bf16 or fp16 for a part of a "
            "network; give the whole network autocast"
        )
    kept = tuple(pair for pair in setting.ask.module_dtypes if pair[0] != modules)
    pairs = tuple(sorted((*kept, (modules, dtype))))
    return setting.traced_otherwise("precision", module_dtypes=pairs)


def _tensor_float(setting: ResolvedScenario, modules: str) -> ResolvedScenario:
    if setting.ask.saved or setting.ask.dtype == "fp32":
        return setting.edited(TensorFloat(modules), _CARRIED)
    if modules != ALL:
        raise InputError(
            f"precision: tf32 of {modules!r} in a network of {setting.ask.dtype}: expected fp32; "
            "apply precision=fp32 first"
        )
    plain = setting.traced_otherwise("precision", dtype="fp32", module_dtypes=())
    return plain.edited(TensorFloat(modules), _CARRIED)


_CARRIED = "TF32 products reach the share of their peak that half precision ones reach"


@whatif("precision")
def fp8(setting: ResolvedScenario, modules: Modules = ALL) -> ResolvedScenario:
    """Linear layers in float8 with the kernels that quantise their operands, scaled by tensor."""
    return setting.edited(Float8(modules), _BOUND)


_BOUND = "float8: operands quantised by two kernels each; memory in training is an upper bound"


@whatif("precision")
def weights(
    setting: ResolvedScenario, dtype: Literal["int8", "int4"] = "int8", modules: Modules = ALL
) -> ResolvedScenario:
    """Weights of linear layers kept as integers and multiplied in the activations' dtype, by one
    kernel that converts them as it loads them."""
    if setting.ask.training:
        raise InputError(
            f"weights={dtype}: an optimizer cannot train integers: expected inference; predict "
            "inference instead"
        )
    return setting.edited(SmallWeights(dtype, modules))


@whatif("precision")
def kv_cache(
    setting: ResolvedScenario, dtype: Literal["fp32", "bf16", "fp16", "fp8", "int8"] = "fp8"
) -> ResolvedScenario:
    """The dtype of cached keys and values; the attention still computes in that of its queries."""
    others = tuple(e for e in setting.edits if not isinstance(e, CacheDtype))
    if dtype == setting.ask.dtype:
        return replace(setting, edits=others)
    return replace(setting, edits=others).edited(
        CacheDtype(dtype), "the attention reads a cache of another dtype at no extra cost"
    )

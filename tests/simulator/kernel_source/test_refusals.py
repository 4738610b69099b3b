"""Groups that cannot be exported are refused with the reason and the groups that can."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import predict
from simulator.errors import InputError
from simulator.kernel_source import candidates, find, fused_group, kernel, reason
from tests.simulator.kernel_source import modules as m


def _tensor(*shape: int) -> Tensor:
    return torch.empty(shape, device="meta")


def _reasons(module: object, *inputs: Tensor) -> list[str | None]:
    prediction = m.compiled(module, *inputs)
    return [reason(prediction, number) for number in range(len(prediction.groups))]


def test_random_numbers_have_no_reference() -> None:
    def dropped(x: Tensor) -> Tensor:
        return F.dropout(x, 0.1, training=True) + 1

    seeds, why = _reasons(dropped, _tensor(5, 7))
    assert seeds == (
        "the seeds of all random numbers are drawn at once, outside the generated kernels"
    )
    assert (
        why == "aten.native_dropout.default draws random numbers, which no reference can reproduce"
    )


def test_a_running_sum_is_refused_by_name() -> None:
    [why] = _reasons(lambda x: x.cumsum(-1) * 2, _tensor(5, 7))
    assert why == "aten.cumsum.default is a running sum, not a sum over a row"


def test_an_unknown_op_is_named_with_the_known_ops() -> None:
    [why] = _reasons(lambda x: torch.lgamma(x) + 1, _tensor(5, 7))
    assert why is not None
    assert why.startswith("aten.lgamma.default cannot be exported: expected one of abs, add, ")
    assert "softmax" in why and "native_layer_norm" in why


def test_a_library_call_cannot_be_exported() -> None:
    prediction = m.compiled(nn.Linear(5, 7), _tensor(3, 5))
    assert reason(prediction, 0) == "cuBLAS runs matrix products"
    with pytest.raises(InputError, match="is a library call: no kernel is generated"):
        fused_group(prediction, 0)


def test_sums_that_are_split_are_two_launches() -> None:
    whys = _reasons(lambda x: x.sum(), _tensor(4096, 4096))
    assert (
        whys[0] == "its reductions are split over the GPU's units and completed by a second launch"
    )


def test_choosing_by_number_and_by_name() -> None:
    p = predict(
        nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64)),
        (_tensor(9, 64),),
        mode="compiled",
    )
    groups = candidates(p)
    good = next(each for each in groups if each.reason is None)
    assert find(groups, str(good.number)) == find(groups, good.name) == good
    assert good.name.endswith("gelu+native_layer_norm")
    bad = next(each for each in groups if each.reason is not None)
    choose = rf"choose {good.number} \({good.name.replace('+', '.')}\)"
    why = r"cannot be exported: cuBLAS runs matrix products; "
    with pytest.raises(InputError, match=why + choose):
        find(groups, bad.name)
    with pytest.raises(InputError, match=rf"no group 'x': {choose}; the command without --group"):
        find(groups, "x")
    with pytest.raises(InputError, match=r"no group 'x': no group of this step can be exported"):
        find([bad], "x")
    many = [replace(good, number=n) for n in range(1, 8)]
    with pytest.raises(InputError, match=r"5 \([^,]*\) or one of 2 more; "):
        find(many, "x")


def test_an_eager_step_has_no_groups() -> None:
    p = predict(nn.GELU(), (_tensor(9, 64),))
    with pytest.raises(InputError, match=r"nothing is fused in mode .*--mode compiled"):
        candidates(p)


def test_shapes_that_differ_between_cases_are_arguments() -> None:
    first = m.compiled(m.bias_gelu, _tensor(4, 8, 5), _tensor(5))
    other = m.compiled(m.bias_gelu, _tensor(3, 7, 5), _tensor(5))
    strange = m.compiled(lambda x, y: F.silu(x + y), _tensor(3, 7, 5), _tensor(5))
    group = fused_group(first, 0, [("other", other), ("strange", strange)])
    assert group.cases == ("as exported", "other")  # a different op makes a different network
    source = kernel(group)
    assert source.names.values == {"n0": (32, 21)}  # 4·8 rows of 5, and 3·7
    assert source.lines[1] == "inside = i < 5 * n0"

"""Energies of cards that were not measured, by the factors of their process and memory."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.timing import energies as module
from simulator.timing.energies import Energies, energies, is_measured
from simulator.timing.voltage import Voltage

H200 = gpu("h200")


def known(name: str) -> Energies:
    fitted = energies(gpu(name))
    assert fitted is not None
    return fitted


@pytest.mark.parametrize(
    ("name", "limit_w", "logic", "tensor", "dram"),
    [
        ("a100_sxm_80", 400, 1.4, 1.4, 1.1),  # Ampere GA100, HBM2e
        ("a10", 150, 2.2, 2.2, 1.3),  # Ampere GA102 has a different process from GA100
        (
            "b200_sxm",
            1000,
            1.0,
            0.53,
            1.0,
        ),  # Blackwell: Hopper's process, newer tensor cores; HBM3e
        ("rtx5090", 575, 1.3, 1.3, 1.2),  # the longer name of Blackwell GB202, GDDR7
        ("p40", 250, 1.5, 1.5, 1.9),  # GDDR5
        ("jetson_agx_orin", 60, 2.2, 2.2, 1.3),  # LPDDR5 is not listed
        ("gh200", 1000, 1.0, 1.0, 1.0),
    ],
)
def test_energies_are_carried_by_process_memory_and_limit(
    name: str, limit_w: float, logic: float, tensor: float, dram: float
) -> None:
    base, carried = known("h200"), known(name)
    share = limit_w / 700  # of an H200
    for field in ("idle_w", "clocked_w", "busy_w", "tensor_w", "launch_j", "collective_w"):
        assert getattr(carried, field) == pytest.approx(share * getattr(base, field))
    for field in ("instruction_j", "lane_j", "l2_j_per_byte", "link_j_per_byte"):
        assert getattr(carried, field) == pytest.approx(logic * getattr(base, field))
    assert carried.tensor_j_per_flop["bf16"] == pytest.approx(
        tensor * base.tensor_j_per_flop["bf16"]
    )
    assert carried.vector_j_per_flop["fp32"] == pytest.approx(
        logic * base.vector_j_per_flop["fp32"]
    )
    assert carried.dram_j_per_byte == pytest.approx(dram * base.dram_j_per_byte)
    assert (carried.interval, carried.gpu) == ((0.65, 1.5), name)
    # the clock of a card with the same architecture, or the card's own
    own = base.clock_hz if name == "gh200" else gpu(name).boost_hz
    assert carried.clock_hz == own
    assert not is_measured(gpu(name))


def test_each_figure_has_the_factor_of_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    base = replace(
        known("h200"), idle_w=70.0, clocked_w=14.0, busy_w=7.0, tensor_w=21.0, launch_j=0.7,
        instruction_j=1.0, lane_j=2.0, l2_j_per_byte=3.0, dram_j_per_byte=4.0,
        collective_w=0.14, link_j_per_byte=5.0,
    )  # fmt: skip
    monkeypatch.setattr(module, "_measured", lambda gpu_id: base)
    # half of the H200's 700 W; the energies of Ampere's GA100 are 1.4 times as high, those of HBM2e
    # 1.1 times
    carried = module._carried.__wrapped__("mine", "Ampere GA100", "HBM2e", 350.0, 1.4e9)
    assert carried is not None and carried.clock_hz == 1.4e9
    watts = carried.idle_w, carried.clocked_w, carried.busy_w, carried.tensor_w, carried.launch_j
    assert watts == (35.0, 7.0, 3.5, 10.5, 0.35)
    assert carried.collective_w == pytest.approx(0.07)
    joules = carried.instruction_j, carried.lane_j, carried.l2_j_per_byte, carried.dram_j_per_byte
    assert joules == pytest.approx((1.4, 2.8, 4.2, 4.4))
    assert carried.link_j_per_byte == pytest.approx(7.0)


def test_cards_of_an_unknown_kind_have_no_energies() -> None:
    card = gpu("a100")
    for missing in ({"tdp_w": None}, {"architecture": None}, {"boost_hz": None},
                    {"architecture": "Kepler"}):  # fmt: skip
        assert energies(replace(card, **missing)) is None
    unnamed = energies(replace(card, memory_type=None))
    assert unnamed is not None
    assert unnamed.dram_j_per_byte == pytest.approx(1.3 * known("h200").dram_j_per_byte)
    assert is_measured(H200) and is_measured(gpu("h100"))


def test_a_feature_has_its_own_joules() -> None:
    one = replace(
        known("h200"), tensor_j_per_flop={"bf16": 1.0, "fp8": 2.0},
        vector_j_per_flop={"fp32": 3.0, "fp64": 4.0}, instruction_j=5.0, l2_j_per_byte=6.0,
        launch_j=7.0, tensor_w=11.0, lane_j=1e-12,
    )  # fmt: skip
    features = ("tensor_fp8", "tensor_bf16", "tensor_fp4", "vector_fp64", "vector_fp16",
                "instruction", "l2", "launch")  # fmt: skip
    assert [one.each(feature) for feature in features] == [2, 1, 1, 4, 3, 5, 6, 7]
    # 132·128 lanes at 1.98 GHz, 1 pJ per clock
    assert one.computing_w(Work("memcpy"), H200) == pytest.approx(33.45, abs=0.01)
    assert one.computing_w(Work("gemm", 1000, engine="tensor", dtype="bfloat16"), H200) == 11


def test_voltages_are_linear_between_their_points() -> None:
    voltage = Voltage(
        volts=((0.2, 0.6), (1.0, 1.0)), speeds=((0.0, 0.0), (1.0, 0.5)), tensor_clock=0.6
    )
    # V is 0.8 at a clock of 0.6 and does not fall below 0.6
    assert voltage.squared(0.6) == pytest.approx(0.64)
    assert voltage.squared(0.1) == pytest.approx(0.36)
    assert voltage.tensor_speed(0.5) == pytest.approx(0.25)
    # at the highest clock, tensor cores run at half of their clock of 0.6: V is 0.65 at 0.3, and
    # 0.8 at 0.6
    assert voltage.tensor_squared(1.0) == pytest.approx((0.65 / 0.8) ** 2)


TENSOR = Work("gemm", 8e9, 1000, 24, "tensor", "bfloat16", instructions=77)
LANES = Work("gemm", 8e9, 1000, 24, "vector", "float32", instructions=77)
LOOP = Work("pointwise", 5, 1000, 24, "vector", "float32", instructions=77)


@pytest.mark.parametrize(
    ("work", "part", "amounts"),
    [
        (TENSOR, "tensor", {"tensor_bf16": 8e9}),
        (LANES, "", {"vector_fp32": 8e9}),
        (LOOP, "", {"instruction": 77}),
        # only a part of the tiles is visible
        (replace(TENSOR, dims={"fraction": 0.25}), "tensor", {"tensor_bf16": 2e9}),
        (replace(TENSOR, dtype="float8_e4m3fn"), "tensor", {"tensor_fp8": 8e9}),
        # a depthwise convolution loads operands for each product
        (replace(LANES, family="conv"), "", {"vector_fp32": 8e9}),
        (replace(LANES, family="conv", dims={"depthwise": True}), "lanes", {}),
    ],
)
def test_amounts_that_cost_energy(work: Work, part: str, amounts: dict[str, float]) -> None:
    assert module.computing(work) == part
    assert module.features(work, H200) == {"l2_byte": 1024, "launch": 1, **amounts}


def test_products_of_a_card_without_tensor_cores_for_them_count_on_lanes() -> None:
    assert gpu("v100_pcie_16").peak("tensor", "bf16") is None
    assert module.features(TENSOR, gpu("v100_pcie_16")) == {
        "l2_byte": 1024,
        "launch": 1,
        "vector_bf16": 8e9,
    }


@pytest.mark.parametrize(("queries", "share"), [
    (1, 1 / 128), (127, 127 / 128), (128, 1.0), (129, 129 / 256), (300, 300 / 384),
])  # fmt: skip
def test_rows_of_tiles_that_are_queries(queries: int, share: float) -> None:
    work = Work("attention", dims={"sq": queries, "tile": (128, 64)})
    assert module.filled(work) == pytest.approx(share)
    assert module.filled(Work("attention", dims={"sq": queries})) == 1.0
    assert module.filled(Work("gemm", dims={"sq": queries, "tile": (128, 64)})) == 1.0


def test_lanes_make_a_fused_multiply_add_an_instruction() -> None:
    # 132 multiprocessors with 128 lanes at the boost clock: 66.9 TFLOP/s are 33.45e12 instructions
    # per second
    assert module.lanes_per_s(H200) == pytest.approx(132 * 128 * (H200.boost_hz or 0), rel=1e-3)

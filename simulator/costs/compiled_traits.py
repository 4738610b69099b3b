"""How torch.compile and autocast treat an op, in addition to its cost: one row per op.

The traits of an op without a row follow from its cost. The families of its works give its kind, and
each FLOP takes one issue slot in a generated kernel. Such an op is not computed again in the
backward pass, and autocast leaves its operands as they are.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["pointwise", "reduction", "library", "none"]
Recompute = Literal["listed", "decomposed", "random", "intensive"]
Autocast = Literal["low", "float32", "float32_argument", "widest"]


class Traits(NamedTuple):
    """The compiled-mode traits of an op.

    kind       the generated kernel: a loop over elements, a reduction, or a library call
    slots      issue slots per element in a generated kernel, without loads and stores
    row_slots  issue slots per element of an op over rows: first if a row stays in registers, then
               if the kernel loops along it
    triton     an element as a Triton expression of the arguments that it names
    positive   the argument `self` must be positive; the check of an exported kernel ensures that
    recompute  its class in torch's partitioner (`get_default_op_list` of
               torch/_functorch/partitioners.py): "listed" ops may be computed again in the backward
               pass; "decomposed" stands for several listed ops in the joint graph; "random" fuses
               with listed ops but may not run again; "intensive" runs again only within a budget
    autocast   its list in ATen/autocast_mode.h: operands become the "low" precision or "float32";
               "float32_argument" sets the argument `dtype` instead; "widest" takes the widest
               precision of the operands

    Slots of functions were measured with chains of 4 and 16 of a function on an H200
    (`generated_function_chain`), so they include the latencies of instructions. Slots of gradients
    were counted in the machine code of Triton's compiler and ptxas for compute capability 9.0. A
    special function (MUFU) keeps a quarter of a unit busy for 8 clocks per warp, so it counts at
    least 8. The sine is counted without its path for large angles (124 slots with it), the
    hyperbolic tangent with both of its paths (13 slots with one), because a warp of ordinary values
    runs both. A maximum or minimum first tests for NaN. A loaded index is wrapped if negative,
    checked against the bounds (config.assert_indirect_indexing) and converted to an address.

    Bicubic interpolation took 67 ps for each result on an H200 (11 images of 768 × 54 × 54 in 1.68
    ms, one in 0.15 ms). Inductor's kernel computes weights and an index for each of the 16 inputs
    of a result.

    Slots of rows: a softmax is max, x − max, exp of 8, sum; again x − max, and a product with the
    reciprocal's 8. If the kernel loops along the row, each running maximum costs two more exps and
    selects, and the exp is computed again. A norm is two sums, then (x − mean)·scale·weight + bias;
    in a loop, Welford's step has a division.
    """

    kind: Kind | None = None
    slots: int | None = None
    row_slots: tuple[int, int] | None = None
    triton: str = ""
    positive: bool = False
    recompute: Recompute | None = None
    autocast: Autocast | None = None


def _same(names: str, traits: Traits) -> dict[str, Traits]:
    return dict.fromkeys(names.split(), traits)


TRAITS: dict[str, Traits] = {
    "_adaptive_avg_pool2d": Traits(kind="pointwise"),
    "_embedding_bag": Traits(kind="library"),
    "_fused_rms_norm": Traits(row_slots=(6, 7)),
    "_log_softmax": Traits(row_slots=(14, 50)),
    "_log_softmax_backward_data": Traits(row_slots=(12, 14)),
    "_softmax": Traits(row_slots=(20, 50)),
    "_softmax_backward_data": Traits(row_slots=(4, 6)),
    "abs": Traits(triton="tl.abs({self})", recompute="listed"),
    "acos": Traits(recompute="listed", autocast="float32"),
    "addcdiv": Traits(recompute="listed", autocast="widest"),
    "addcmul": Traits(recompute="listed", autocast="widest"),
    "addmm": Traits(recompute="intensive", autocast="low"),
    "alias": Traits(triton="{self}"),
    "asin": Traits(recompute="listed", autocast="float32"),
    "atan2": Traits(recompute="listed", autocast="widest"),
    "baddbmm": Traits(recompute="intensive", autocast="low"),
    "bitwise_and": Traits(triton="{self} & {other}", recompute="listed"),
    "bitwise_or": Traits(triton="{self} | {other}", recompute="listed"),
    "bitwise_xor": Traits(triton="{self} ^ {other}", recompute="listed"),
    "bmm": Traits(recompute="intensive", autocast="low"),
    "ceil": Traits(triton="tl.ceil({self})", recompute="listed"),
    "clamp": Traits(slots=10, recompute="listed"),
    "clamp_max": Traits(slots=5, recompute="listed"),
    "clamp_min": Traits(slots=5, recompute="listed"),
    "clone": Traits(triton="{self}", recompute="listed"),
    "contiguous": Traits(triton="{self}"),
    "cos": Traits(slots=29, triton="tl.cos({self})", recompute="listed"),
    "cosh": Traits(recompute="listed", autocast="float32"),
    "cumsum": Traits(kind="reduction", autocast="float32_argument"),
    "detach": Traits(triton="{self}"),
    "div": Traits(slots=8, triton="{self} / {other}", recompute="listed"),
    "elu": Traits(slots=30, recompute="listed"),
    "embedding_bag": Traits(kind="library"),
    "eq": Traits(triton="{self} == {other}", recompute="listed"),
    "erf": Traits(slots=34, triton="tl.erf({self})", recompute="listed"),
    "erfc": Traits(slots=36, recompute="listed"),
    "erfinv": Traits(recompute="listed", autocast="float32"),
    "exp": Traits(slots=9, triton="tl.exp({self})", recompute="listed", autocast="float32"),
    "exp2": Traits(slots=8, triton="tl.exp2({self})", recompute="listed"),
    "expm1": Traits(
        slots=28, triton="tl.exp({self}) - 1.0", recompute="listed", autocast="float32"
    ),
    "floor": Traits(triton="tl.floor({self})", recompute="listed"),
    "gather": Traits(slots=18, recompute="listed"),
    "ge": Traits(triton="{self} >= {other}", recompute="listed"),
    "gelu": Traits(slots=37, recompute="listed"),
    "gelu_backward": Traits(slots=47, recompute="listed"),
    "gt": Traits(triton="{self} > {other}", recompute="listed"),
    "hardsigmoid": Traits(
        triton="tl.minimum(tl.maximum({self} / 6.0 + 0.5, 0.0), 1.0)", recompute="listed"
    ),
    "hardswish": Traits(
        slots=8, triton=("{self} * tl.minimum(tl.maximum({self} / 6.0 + 0.5, 0.0), 1.0)")
    ),
    "hardswish_backward": Traits(slots=7),
    "hardtanh": Traits(slots=10, recompute="listed"),
    "index": Traits(slots=18, recompute="listed"),
    "index_select": Traits(slots=18),
    "isnan": Traits(triton="{self} != {self}", recompute="listed"),
    "le": Traits(triton="{self} <= {other}", recompute="listed"),
    "leaky_relu": Traits(slots=3, recompute="listed"),
    "log": Traits(
        slots=26, triton="tl.log({self})", positive=True, recompute="listed", autocast="float32"
    ),
    "log10": Traits(recompute="listed", autocast="float32"),
    "log1p": Traits(
        slots=29, triton="tl.log(1.0 + {self})", recompute="listed", autocast="float32"
    ),
    "log2": Traits(
        slots=28, triton="tl.log2({self})", positive=True, recompute="listed", autocast="float32"
    ),
    "logical_and": Traits(triton="({self} != 0) & ({other} != 0)", recompute="listed"),
    "logical_not": Traits(triton="{self} == 0", recompute="listed"),
    "logical_or": Traits(triton="({self} != 0) | ({other} != 0)", recompute="listed"),
    "logsumexp": Traits(row_slots=(11, 32), autocast="float32"),
    "lt": Traits(triton="{self} < {other}", recompute="listed"),
    "maximum": Traits(slots=5, triton="tl.maximum({self}, {other})", recompute="listed"),
    "minimum": Traits(slots=5, triton="tl.minimum({self}, {other})", recompute="listed"),
    "mish": Traits(slots=52, recompute="listed"),
    "mm": Traits(recompute="intensive", autocast="low"),
    "mul": Traits(triton="{self} * {other}", recompute="listed"),
    "native_group_norm": Traits(kind="reduction", row_slots=(9, 24)),
    "native_group_norm_backward": Traits(kind="reduction"),
    "native_layer_norm": Traits(row_slots=(9, 24), autocast="float32"),
    "ne": Traits(triton="{self} != {other}", recompute="listed"),
    "neg": Traits(triton="-{self}", recompute="listed"),
    "nll_loss_forward": Traits(kind="reduction"),
    "reciprocal": Traits(slots=8, triton="1.0 / {self}", recompute="listed", autocast="float32"),
    "relu": Traits(slots=5, triton="tl.maximum({self}, 0.0)", recompute="listed"),
    "rsqrt": Traits(
        slots=8, triton="tl.rsqrt({self})", positive=True, recompute="listed", autocast="float32"
    ),
    "scatter_add": Traits(kind="library", autocast="widest"),
    "sigmoid": Traits(slots=16, triton="1.0 / (1.0 + tl.exp(-{self}))", recompute="listed"),
    "sigmoid_backward": Traits(
        slots=3, triton="{grad_output} * (1.0 - {output}) * {output}", recompute="listed"
    ),
    "sign": Traits(
        triton="tl.where({self} > 0, 1.0, tl.where({self} < 0, -1.0, 0.0))", recompute="listed"
    ),
    "silu": Traits(slots=19, triton="{self} / (1.0 + tl.exp(-{self}))", recompute="listed"),
    "silu_backward": Traits(
        slots=25,
        triton=(
            "{grad_output} / (1.0 + tl.exp(-{self})) * "
            "(1.0 + {self} * (1.0 - 1.0 / (1.0 + tl.exp(-{self}))))"
        ),
        recompute="listed",
    ),
    "sin": Traits(slots=27, triton="tl.sin({self})", recompute="listed"),
    "sinh": Traits(recompute="listed", autocast="float32"),
    "softplus": Traits(slots=36, recompute="listed", autocast="float32"),
    "softplus_backward": Traits(slots=20),
    "sqrt": Traits(slots=11, triton="tl.sqrt({self})", positive=True, recompute="listed"),
    "square": Traits(triton="{self} * {self}", recompute="listed"),
    "sum": Traits(recompute="listed", autocast="float32_argument"),
    "tan": Traits(recompute="listed", autocast="float32"),
    "tanh": Traits(
        slots=30, triton="2.0 / (1.0 + tl.exp(-2.0 * {self})) - 1.0", recompute="listed"
    ),
    "tanh_backward": Traits(
        slots=3, triton="{grad_output} * (1.0 - {output} * {output})", recompute="listed"
    ),
    "threshold_backward": Traits(slots=2, recompute="listed"),
    "upsample_bicubic2d": Traits(slots=1090, autocast="float32"),
    "upsample_bilinear2d": Traits(recompute="intensive", autocast="float32"),
    "where": Traits(slots=2, recompute="listed"),
    **_same(
        """
        _convolution _convolution.deprecated addbmm addmv addr chain_matmul conv1d
        conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d.input conv_transpose3d.input
        convolution einsum gru_cell linalg_multi_dot linalg_vecdot linear lstm_cell matmul mv
        prelu rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention
        """,
        Traits(autocast="low"),
    ),
    **_same(
        """
        _scaled_mm
        """,
        Traits(recompute="intensive"),
    ),
    **_same(
        """
        _to_copy acosh add amax angle any arange argmax asinh atan atanh bitwise_left_shift
        bitwise_not bitwise_right_shift celu conj_physical copysign deg2rad digamma empty
        empty_like equal fmax fmin fmod frac frexp full full_like gcd hardshrink heaviside hypot
        i0 igamma igammac isinf isneginf isposinf lcm ldexp lerp lgamma lift_fresh_copy
        logaddexp logaddexp2 logical_xor logit logit_backward masked_fill max mean min mvlgamma
        nan_to_num native_dropout_backward new_zeros nextafter ones polygamma pow rad2deg
        remainder round rsub scalar_tensor sgn signbit sinc softshrink special_airy_ai
        special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
        special_chebyshev_polynomial_t special_chebyshev_polynomial_u
        special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_entr special_erfcx
        special_hermite_polynomial_h special_hermite_polynomial_he special_i0e special_i1
        special_i1e special_laguerre_polynomial_l special_legendre_polynomial_p special_log_ndtr
        special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
        special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0
        special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t
        special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
        special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 special_xlog1py
        special_zeta std sub threshold triu trunc var var_mean xlogy zeros zeros_like
        """,
        Traits(recompute="listed"),
    ),
    **_same(
        """
        _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d
        _upsample_nearest_exact2d _upsample_nearest_exact3d binary_cross_entropy_with_logits
        cdist cosine_embedding_loss cosine_similarity dist frobenius_norm.dim group_norm
        hinge_embedding_loss huber_loss kl_div l1_loss layer_norm margin_ranking_loss mse_loss
        multi_margin_loss multilabel_margin_loss nll_loss nll_loss2d nuclear_norm
        nuclear_norm.dim pdist poisson_nll_loss pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor
        renorm rms_norm smooth_l1_loss soft_margin_loss triplet_margin_loss
        upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d
        upsample_trilinear3d
        """,
        Traits(autocast="float32"),
    ),
    **_same(
        """
        batch_norm_elemt
        """,
        Traits(recompute="decomposed"),
    ),
    **_same(
        """
        bilinear cross dot grid_sampler index_put tensordot vdot
        """,
        Traits(autocast="widest"),
    ),
    **_same(
        """
        cumprod linalg_matrix_norm linalg_matrix_norm.str_ord linalg_vector_norm log_softmax.int
        prod prod.dim_int softmax.int sum.dim_IntList
        """,
        Traits(autocast="float32_argument"),
    ),
    **_same(
        """
        native_dropout rand_like randn_like
        """,
        Traits(recompute="random"),
    ),
}
"""By the name of an op's default overload, without its namespace. Another overload has its own
entry ("sum.dim_IntList") if its precision under autocast differs."""


def traits(overload: str) -> Traits | None:
    """The row of an overload such as "aten.cumsum.default"; None without one."""
    return TRAITS.get(overload.removeprefix("aten.").removesuffix(".default"))

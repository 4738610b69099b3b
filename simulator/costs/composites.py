"""Ops that PyTorch composes of others, which have the costs: they have traits alone."""

from __future__ import annotations

from simulator.costs.compiled_traits import Traits
from simulator.costs.registry import describe


def _default(names: str) -> list[str]:
    return [f"aten.{name}.default" for name in names.split()]


describe(
    *_default(
        """
        chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d einsum gru_cell
        linalg_multi_dot linalg_vecdot linear lstm_cell matmul prelu rnn_relu_cell rnn_tanh_cell
        scaled_dot_product_attention
        """
    ),
    traits=Traits(autocast="low"),
)
describe(
    "aten.conv_transpose2d.input",
    "aten.conv_transpose3d.input",
    traits=Traits(autocast="low", overloads=("input",)),
)
describe(
    *_default(
        """
        cdist cosine_embedding_loss cosine_similarity group_norm hinge_embedding_loss kl_div l1_loss
        layer_norm margin_ranking_loss multilabel_margin_loss nll_loss nll_loss2d pdist
        poisson_nll_loss rms_norm triplet_margin_loss
        """
    ),
    traits=Traits(autocast="float32"),
)
describe("aten.frobenius_norm.dim", traits=Traits(autocast="float32", overloads=("dim",)))
describe(
    "aten.nuclear_norm.default",
    "aten.nuclear_norm.dim",
    traits=Traits(autocast="float32", overloads=("default", "dim")),
)
describe(
    "aten.softmax.int",
    "aten.log_softmax.int",
    traits=Traits(autocast="float32_argument", overloads=("int",)),
)
describe(
    "aten.linalg_matrix_norm.default",
    "aten.linalg_matrix_norm.str_ord",
    traits=Traits(autocast="float32_argument", overloads=("default", "str_ord")),
)
describe(*_default("bilinear cross grid_sampler tensordot"), traits=Traits(autocast="widest"))

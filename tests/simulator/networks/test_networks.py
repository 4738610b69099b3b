"""The catalogue: correct sizes, networks that run on the CPU, and a useful error for a mistyped
name."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from simulator.networks.catalogue import CATALOGUE, build
from simulator.networks.images.swin import from_windows, to_windows
from simulator.networks.sequences.mamba2 import scan

# As published, unless a comment states the difference.
PARAMETERS = {
    "chain": 0,
    "multiply-adds": 0,
    "mlp-tiny": 133_386,  # 8·(128·128 + 128) + 128·10 + 10
    "mlp-wide": 268_550_154,  # 4·(8192·8192 + 8192) + 8192·10 + 10
    # encoder and pooler 109,482,240; transform 590,592 + norm 1,536 + bias 30,522; classifier of 2
    # classes 1,538
    "bert-base": 110_106_428,
    "bert-large": 336_226_108,
    "gpt2": 124_439_808,
    "gpt2-xl": 1_557_611_200,
    "llama3-1b": 1_235_814_400,
    "llama3-8b": 8_030_261_248,
    "llama3-70b": 70_553_706_496,
    "llama3-1b-decode": 1_235_814_400,
    "llama3-8b-decode": 8_030_261_248,
    "llama3-70b-decode": 70_553_706_496,
    "mixtral": 46_702_792_704,
    # per layer: 8 experts 3·1024·3584, router 8·1024, attention 2·1024² + 2·1024·256, norms 2·1024;
    # 4 layers, then embedding and head 2·32000·1024 and a norm 1024
    "mixtral-small": 428_385_280,
    # 20,914,757,184 and 116,829,156,672, without the attention sinks, 64 per layer
    "gpt-oss-20b": 20_914_755_648,
    "gpt-oss-120b": 116_829_154_368,
    "qwen3-30b": 30_532_122_624,
    # per layer: 256 experts 3·3072·1536, router 256·3072, attention 2·3072·6144 + 2·3072·1024,
    # norms 2·3072 + 2·128 (published: a row for each head); 62 layers, then embedding and head
    # 2·200064·3072 and a norm 3072
    "minimax-m2": 228_689_320_448,
    "gpt-oss-20b-decode": 20_914_755_648,
    "gpt-oss-120b-decode": 116_829_154_368,
    "qwen3-30b-decode": 30_532_122_624,
    "minimax-m2-decode": 228_689_320_448,
    # per layer: attention 7168·1536 + 1536·128·192 + 7168·576 + 512·128·256 + 128·128·7168 and
    # norms 1536 + 512 + 2·7168; 3 layers of 3·7168·18432; 58 of 257 experts of 3·7168·2048 and a
    # router 256·7168 (its biases are a buffer); embedding and head 2·129280·7168, and a norm 7168
    "deepseek-v3": 671_026_404_352,
    "deepseek-v3-decode": 671_026_404_352,
    "t5-base": 222_903_552,
    "vit-b16": 86_567_656,
    "vit-l16": 304_326_632,
    "swin-t": 28_288_354,
    "convnext-t": 28_589_128,
    "resnet50": 25_557_032,
    "resnet18": 11_689_512,
    "mobilenet-v2": 3_504_872,
    "convnet-tiny": 1_199_882,
    "unet": 859_520_964,
    # 675,129,632 without the fixed positions, 256·1152, which are a buffer here
    "dit-xl": 674_834_720,
    "whisper-encoder": 19_873_379,  # 19,822,592 without the fixed positions; head 512·99 + 99
    "dlrm": 335_168_897,  # tables 26·100,000·128 = 332,800,000, the rest MLPs
    "lstm": 82_361_600,  # 32000·1024 + 2·(8·1024² + 8·1024) + 1024·32000 + 32000
    "gru": 78_163_200,  # 32000·1024 + 2·(6·1024² + 6·1024) + 1024·32000 + 32000
    "mamba2-130m": 128_989_632,
}

LLAMA = dict(width=64, layers=2, heads=4, kv_heads=2, hidden=96, vocab=50)
MIXTRAL = dict(LLAMA, experts=4)
MOE = dict(LLAMA, hidden=32, d=16, experts=4, top=2)
GPT_OSS = dict(MOE, window=4)
DEEPSEEK = dict(
    width=64, layers=2, dense=1, heads=4, hidden=32, dense_hidden=96, experts=8, top=2, groups=4,
    top_groups=2, query_latent=48, latent=32, plain=16, rotated=8, value=16, vocab=50,
)  # fmt: skip
TINY: dict[str, dict[str, Any]] = {
    "chain": dict(elements=100),
    "multiply-adds": dict(n=3, elements=100),
    "mlp-tiny": dict(width=16, depth=2),
    "mlp-wide": dict(width=16, depth=2),
    "bert-base": dict(width=32, layers=2, heads=4, hidden=64, vocab=50, mask=True),
    "bert-large": dict(width=32, layers=2, heads=4, hidden=64, vocab=50),
    "gpt2": dict(width=32, layers=2, heads=4, vocab=50),
    "gpt2-xl": dict(width=32, layers=1, heads=2, vocab=50),
    **{f"llama3-{size}{end}": LLAMA for size in ("1b", "8b", "70b") for end in ("", "-decode")},
    "mixtral": MIXTRAL,
    "mixtral-small": MIXTRAL,
    "gpt-oss-20b": GPT_OSS,
    "gpt-oss-120b": GPT_OSS,
    "qwen3-30b": MOE,
    "minimax-m2": MOE,
    "gpt-oss-20b-decode": GPT_OSS,
    "gpt-oss-120b-decode": GPT_OSS,
    "qwen3-30b-decode": MOE,
    "minimax-m2-decode": MOE,
    "deepseek-v3": DEEPSEEK,
    "deepseek-v3-decode": DEEPSEEK,
    "t5-base": dict(width=32, layers=2, heads=4, hidden=64, vocab=50),
    "vit-b16": dict(width=32, layers=2, heads=4, hidden=64, image=32, classes=7),
    "vit-l16": dict(width=32, layers=2, heads=4, hidden=64, image=32, classes=7),
    "swin-t": dict(width=12, depths=(2, 2), heads=(3, 3), window=2, image=32, classes=7),
    "convnext-t": dict(widths=(8, 16), depths=(1, 2), image=32, classes=7),
    "resnet50": dict(depths=(1, 1), width=8, image=32, classes=7),
    "resnet18": dict(depths=(1, 1), width=8, image=32, classes=7),
    "mobilenet-v2": dict(image=32, classes=7),
    "convnet-tiny": dict(image=12, channels=4),
    "unet": dict(widths=(8, 16), heads=2, groups=4, latent=8, context_width=12, context_tokens=3),
    "dit-xl": dict(width=32, layers=2, heads=4, latent=8, classes=7),
    "whisper-encoder": dict(width=32, layers=2, heads=4, mels=8, positions=8),
    "dlrm": dict(tables=3, rows=20, width=8, bottom=(16,), top=(16,)),
    "lstm": dict(width=16, vocab=50),
    "gru": dict(width=16, vocab=50),
    "mamba2-130m": dict(width=32, layers=2, d=16, state=8, chunk=4, vocab=50),
}

SEQ = 10  # not a multiple of Mamba's chunk of 4, so that the padding also runs
TRAINS = [name for name, entry in CATALOGUE.items() if entry.trains]
# The number of an expert's tokens depends on data, which a meta tensor does not have.
DATA_DEPENDENT = ("mixtral", "mixtral-small")


def tiny(name: str) -> nn.Module:
    torch.manual_seed(0)
    return build(name, **TINY[name])


def inputs(module: nn.Module, seq: int | None, training: bool = False) -> tuple[Tensor, ...]:
    return module.example_inputs(2, seq, training=training)  # pyright: ignore


@pytest.mark.layered(5)
@pytest.mark.parametrize("name", CATALOGUE)
def test_parameter_count(name: str) -> None:
    with torch.device("meta"):
        module = build(name)
    assert sum(p.numel() for p in module.parameters()) == PARAMETERS[name]


def test_bert_encoder_and_pooler_are_the_published_110_million() -> None:
    with torch.device("meta"):
        bert = build("bert-base")
    heads = ("next_sentence.", "transform", "head.")
    body = [p for name, p in bert.named_parameters() if not name.startswith(heads)]
    assert sum(p.numel() for p in body) == 109_482_240


@pytest.mark.layered(5, daily=["bfloat16-chain"])
@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_tiny_infers_finite_numbers(name: str, dtype: torch.dtype) -> None:
    module = tiny(name).to(dtype).eval()
    with torch.no_grad():
        arguments = inputs(module, SEQ)
        if name in ("chain", "multiply-adds"):  # no parameter states its dtype
            arguments = tuple(x.to(dtype) for x in arguments)
        logits = module(*arguments)
    assert logits.dtype == dtype and logits.isfinite().all()


@pytest.mark.layered(5, daily=["mixtral", "resnet50"])
@pytest.mark.parametrize("name", TRAINS)
def test_tiny_trains(name: str) -> None:
    module = tiny(name).train()
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)
    output = module(*inputs(module, SEQ, training=True))
    output.loss.backward()
    assert output.loss.isfinite()
    # An expert that no token chose gets no gradient; every other parameter must.
    if name not in DATA_DEPENDENT:
        assert [n for n, p in module.named_parameters() if p.grad is None] == []
    assert all(p.grad.isfinite().all() for p in module.parameters() if p.grad is not None)
    optimizer.step()


@pytest.mark.parametrize("name", sorted(set(CATALOGUE) - set(TRAINS)))
def test_training_of_an_inference_network_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="use training=False"):
        inputs(tiny(name), SEQ, training=True)


def test_decoding_continues_the_prefill() -> None:
    prefill, decode = tiny("llama3-1b").eval(), tiny("llama3-1b-decode").eval()
    keys_and_values: list[Tensor] = []
    attention = prefill.layers[0].attention  # pyright: ignore
    whole = torch.nn.functional.scaled_dot_product_attention

    def keep(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
        keys_and_values.extend((k.clone(), v.clone()))
        return whole(q, k, v, **options)

    ids = inputs(prefill, SEQ)[0]
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(torch.nn.functional, "scaled_dot_product_attention", keep)
        want = prefill(ids)[:, -1:]
    assert keys_and_values[0].shape == (2, 2, SEQ, attention.d)
    cache = [x.clone() for x in keys_and_values]
    for x in cache:
        x[:, :, -1] = torch.nan  # the step must write this position before it reads it
    torch.testing.assert_close(decode(ids[:, -1:], *cache), want)
    torch.testing.assert_close(cache, keys_and_values)  # written in place


def test_padding_does_not_change_berts_outputs_of_the_words() -> None:
    bert = tiny("bert-base").eval()
    ids = torch.randint(1, 50, (2, 6))
    padded = torch.cat((ids, torch.zeros(2, 2, dtype=torch.long)), dim=1)
    torch.testing.assert_close(bert(padded)[:, :6], bert(ids))


@pytest.mark.parametrize("name", ["gpt2", "llama3-1b", "mixtral", "mamba2-130m", "lstm"])
def test_causal_networks_do_not_look_ahead(name: str) -> None:
    module = tiny(name).eval()
    ids = torch.randint(0, 50, (1, SEQ))
    changed = ids.clone()
    changed[:, -1] = (ids[:, -1] + 1) % 50
    before, after = module(ids), module(changed)
    torch.testing.assert_close(before[:, :-1], after[:, :-1])
    assert not torch.allclose(before[:, -1], after[:, -1])


def test_t5_decoder_does_not_look_ahead_but_its_encoder_does() -> None:
    module = tiny("t5-base").eval()
    source, target = inputs(module, SEQ)
    changed = target.clone()
    changed[:, -1] = (target[:, -1] + 1) % 50
    logits = module(source, target)
    torch.testing.assert_close(module(source, changed)[:, :-1], logits[:, :-1])
    changed = source.clone()
    changed[:, -1] = (source[:, -1] + 1) % 50
    assert not torch.allclose(module(changed, target)[:, 0], logits[:, 0])


def test_chunked_scan_is_the_recurrence() -> None:
    torch.manual_seed(0)
    x, decay = torch.randn(2, 12, 3, 5), -torch.rand(2, 12, 3)
    b, c = torch.randn(2, 12, 4), torch.randn(2, 12, 4)
    state, steps = torch.zeros(2, 3, 5, 4), []
    for t in range(12):  # h ← exp(decay)·h + x bᵀ;  y = h c
        state = state * decay[:, t].exp()[..., None, None]
        state = state + x[:, t, :, :, None] * b[:, t, None, None, :]
        steps.append((state * c[:, t, None, None, :]).sum(-1))
    torch.testing.assert_close(scan(x, decay, b, c, chunk=4), torch.stack(steps, dim=1))


def test_experts_are_the_weighted_sum_over_all_of_them() -> None:
    experts: Any = tiny("mixtral").layers[0].feed_forward  # pyright: ignore
    x = torch.randn(2, SEQ, 64)
    weights = torch.softmax(experts.router(x), dim=-1)
    top = weights.topk(2, dim=-1)
    top_weights = torch.zeros_like(weights).scatter(-1, top.indices, top.values)
    top_weights = top_weights / top_weights.sum(-1, keepdim=True)
    every = torch.stack([expert(x) for expert in experts.experts], dim=-1)
    torch.testing.assert_close(experts(x), (every * top_weights[:, :, None]).sum(-1))


def test_windows_keep_neighbours_together() -> None:
    x = torch.arange(16).view(1, 4, 4, 1)
    windows = to_windows(x, 2)
    assert windows[0, 0, :, 0].tolist() == [0, 1, 4, 5]
    assert windows[0, 3, :, 0].tolist() == [10, 11, 14, 15]
    assert torch.equal(from_windows(windows, 2, 4), x)


def test_the_mask_separates_patches_that_the_roll_joined() -> None:
    module: Any = tiny("swin-t").stages[1].attention  # pyright: ignore
    assert module.shift == 1 and module.mask.shape == (16, 1, 4, 4)  # 8x8 patches, windows of 2x2
    assert (module.mask[0] == 0).all()
    # After the roll, the last window holds the four corners of the image: each token attends only
    # to its own corner.
    assert (module.mask[-1, 0] == torch.where(torch.eye(4) == 1, 0.0, -100.0)).all()


def test_catalogue_is_complete() -> None:
    assert len(CATALOGUE) >= 26
    assert set(PARAMETERS) == set(TINY) == set(CATALOGUE)
    assert all((entry.seq is None) == (entry.seq_unit is None) for entry in CATALOGUE.values())

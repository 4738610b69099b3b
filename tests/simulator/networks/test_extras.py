"""Networks of timm and of Hugging Face's configurations."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch import nn

from simulator import InputError, trace
from simulator.networks.loading.load import load
from simulator.networks.loading.loaded import Facts
from tests.simulator.networks.conftest import refused


def stub(**parts: Any) -> Any:
    return SimpleNamespace(list_models=lambda: ["resnet50", "resnet18"], **parts)


def test_timm_makes_images_of_its_own_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def create_model(name: str, pretrained: bool, **sizes: Any) -> nn.Module:
        assert name == "resnet50" and not pretrained
        model = nn.Conv2d(3, 8, 3)
        model.default_cfg = {"input_size": (3, 176, 160)}
        return model

    monkeypatch.setitem(sys.modules, "timm", stub(create_model=create_model))
    loaded = load("timm:resnet50", batch=2)
    assert loaded.facts == Facts("resnet50", 2, None)
    assert tuple(loaded.args[0].shape) == (2, 3, 176, 160)
    assert refused("timm:resnet05") == (
        "timm has no network 'resnet05': did you mean 'resnet50' or 'resnet18'?"
    )
    assert refused("timm:resnet50", seq=5) == (
        "network 'timm:resnet50' has no sequence: leave seq out"
    )


@pytest.mark.parametrize(("kind", "package"), [("hf", "transformers"), ("timm", "timm")])
def test_an_extra_that_is_absent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    config = tmp_path / "config.json"
    config.write_text("{}")
    assert refused(f"{kind}:{config}") == (
        f'{kind}: networks need {package}, which is not installed: pip install "ridgepoint[{kind}]"'
    )


def config(folder: Path, **keys: Any) -> str:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(keys))
    return f"hf:{folder}"


BERT = dict(
    model_type="bert",
    num_hidden_layers=1,
    hidden_size=32,
    num_attention_heads=2,
    intermediate_size=64,
    vocab_size=100,
)


def test_a_transformers_configuration(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    spec = config(tmp_path / "little", architectures=["BertForMaskedLM"], **BERT)
    loaded = load(spec, batch=2, seq=16, training=True, dtype="bf16")
    assert type(loaded.module).__name__ == "BertForMaskedLM"
    assert loaded.facts == Facts("little", 2, 16)
    assert {k: tuple(v.shape) for k, v in loaded.kwargs.items()} == {
        "input_ids": (2, 16),
        "labels": (2, 16),
    }
    assert load(f"{spec}/config.json").facts == Facts("little", 1, 128)
    file = tmp_path / "little" / "config.json"
    assert refused(spec, seq=600) == (
        f"{file} has 512 positions: expected seq 512 at most, got 600; or give the size "
        "max_position_embeddings=600"
    )
    assert refused(spec, sizes={"wdth": 3}) == (
        f"{file} has no size 'wdth': expected a key of the configuration"
    )


def test_transformers_without_a_head_for_vision_and_for_two_sequences(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    assert type(load(config(tmp_path / "bare", **BERT)).module).__name__ == "BertModel"
    vit = config(
        tmp_path / "vit",
        model_type="vit",
        num_hidden_layers=1,
        hidden_size=32,
        num_attention_heads=2,
        intermediate_size=64,
        image_size=32,
        patch_size=16,
    )
    loaded = load(vit, batch=3)
    assert tuple(loaded.kwargs["pixel_values"].shape) == (3, 3, 32, 32)
    assert loaded.facts.seq is None
    t5 = config(
        tmp_path / "t5",
        model_type="t5",
        num_layers=1,
        d_model=32,
        d_kv=16,
        num_heads=2,
        d_ff=64,
        vocab_size=100,
        architectures=["T5ForConditionalGeneration"],
    )
    loaded = load(t5, seq=8)
    assert loaded.kwargs.pop("use_cache") is False
    assert {k: tuple(v.shape) for k, v in loaded.kwargs.items()} == {
        "input_ids": (1, 8),
        "decoder_input_ids": (1, 8),
    }
    assert len(trace(loaded.module, (), loaded.kwargs).ops) > 0


def test_code_next_to_a_configuration_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")

    def no_question(*_: object) -> str:
        raise AssertionError("nobody is asked")

    monkeypatch.setattr("builtins.input", no_question)
    spec = config(tmp_path / "own", model_type="own", auto_map={"AutoConfig": "own.Own"})
    (tmp_path / "own" / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", "utf-8")
    assert refused(spec) == (
        f"{tmp_path / 'own' / 'config.json'} refers to code in its folder (auto_map), which is "
        "not run: "
        "expected a network of transformers; give a FILE.py:FACTORY that imports this code"
    )
    assert not (tmp_path / "ran").exists()


def test_an_architecture_without_a_network_is_not_called(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    spec = config(tmp_path / "odd", architectures=["Trainer"], **BERT)
    assert type(load(spec).module).__name__ == "BertModel"


INPUTS: list[tuple[dict[str, Any], dict[str, tuple[int, ...]]]] = [
    (dict(model_type="wav2vec2", num_hidden_layers=1), {"input_values": (2, 16000)}),
    (dict(model_type="encodec"), {"input_values": (2, 1, 24000)}),
    (
        dict(model_type="audio-spectrogram-transformer", num_hidden_layers=1),
        {"input_values": (2, 1024, 128)},
    ),
    (
        dict(model_type="whisper", encoder_layers=1, decoder_layers=1),
        {"input_features": (2, 80, 3000), "decoder_input_ids": (2, 128)},
    ),
    (
        dict(model_type="speech_to_text", encoder_layers=1, decoder_layers=1),
        {"input_features": (2, 128, 80), "decoder_input_ids": (2, 128)},
    ),
    (dict(model_type="wav2vec2-bert", num_hidden_layers=1), {"input_features": (2, 128, 160)}),
    (dict(model_type="videomae", num_hidden_layers=1), {"pixel_values": (2, 16, 3, 224, 224)}),
    (dict(model_type="patchtst", num_hidden_layers=1), {"past_values": (2, 32, 1)}),
    (  # networks whose image sizes depend on data
        dict(
            model_type="qwen2_vl",
            text_config=dict(num_hidden_layers=1),
            vision_config=dict(depth=1),
        ),
        {"input_ids": (2, 128)},
    ),
    # −1 means no limit of positions
    (dict(model_type="xlnet", n_layer=1), {"input_ids": (2, 128)}),
]


@pytest.mark.parametrize(("keys", "shapes"), INPUTS, ids=lambda x: str(x.get("model_type", "")))
def test_inputs_by_the_configuration(
    keys: dict[str, Any], shapes: dict[str, tuple[int, ...]], tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    kwargs = load(config(tmp_path / "net", **keys), batch=2).kwargs
    assert {k: tuple(v.shape) for k, v in kwargs.items() if k != "use_cache"} == shapes


def test_transformers_inputs_that_no_configuration_tells(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    spec = config(tmp_path / "any", model_type="perceiver", num_self_attends_per_block=1)
    assert refused(spec) == (
        "PerceiverModel takes inputs, which cannot be made from its configuration: give a "
        "file, FILE.py:FACTORY, whose factory returns (module, args, kwargs)"
    )


def test_required_inputs_that_no_configuration_tells(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    spec = config(tmp_path / "query", model_type="blip_2_qformer", num_hidden_layers=1)
    assert refused(spec) == (
        "Blip2QFormerModel takes query_embeds, which cannot be made from its configuration: give a "
        "file, FILE.py:FACTORY, whose factory returns (module, args, kwargs)"
    )


@pytest.mark.parametrize("spec", ["timm:resnet18", "hf:{folder}"])
def test_a_torchvision_that_does_not_fit_is_named(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The import of torchvision fails in this way if it was built for another torch."""
    broken = "raise RuntimeError('operator torchvision::nms does not exist')\n"
    uses = "import torchvision\n"
    for package, code in (("torchvision", broken), ("timm", uses), ("transformers", uses)):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text(code, "utf-8")
        monkeypatch.delitem(sys.modules, package, raising=False)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}', "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError) as caught:
        load(spec.format(folder=tmp_path))
    assert "whose import fails: RuntimeError: operator torchvision::nms does not exist; the " in (
        str(caught.value)
    )
    assert str(caught.value).endswith("install the release of torchvision that was built for it")

"""A plan's draft: its sentence, its cards, and the keys that their edits write into the spec."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from app.answers.plan.cards import (
    candidate_cards,
    priced,
    switched,
    toggled,
    with_gpu,
    without_gpu,
)
from app.answers.plan.draft import Draft, checked, first, of_table, opened
from app.answers.plan.fields import prices, sentence
from app.answers.plan.words import load_words
from app.answers.sentence import Field
from simulator.errors import InputError

SERVE: dict[str, Any] = {
    "workload": {"kind": "serving", "network": "llama3-8b", "prompt": 1024, "output": 300},
    "load": {"rate": "20/s"},
    "limits": {"per_token": "50 ms"},
    "candidates": {"gpus": ["h200", "l40s"], "counts": [1, 2]},
}


def sentence_text(draft: Draft) -> str:
    """The sentence with its figures in brackets."""
    parts = [f"[{p.shown or p.empty}]" if isinstance(p, Field) else p for p in sentence(draft)]
    return " ".join(parts).replace(" ,", ",").replace(" .", ".")


def entered(draft: Draft, name: str, text: str) -> Draft:
    """The draft after a text was entered in a field."""
    fields = [part for part in sentence(draft) if isinstance(part, Field)]
    fields += [part for part in prices(draft) if isinstance(part, Field)]
    return next(f for f in fields if f.name == name).put(draft, text)


def test_the_sentence_of_a_service():
    assert sentence_text(first()) == (
        "[Serve] [llama3-8b] in [bf16] to [20] requests a second, prompts of [1,024] tokens, "
        "answers of [300], [99%] of tokens within [50 ms], first tokens within [1 s], answers "
        "within [any time], costing at most [any amount]."
    )
    assert load_words(first()) == "20,480 tokens a second in, 6,000 out"


def test_another_kind_keeps_the_network_if_it_can_run_it():
    training = first().of_kind("training")
    assert sentence_text(training) == (
        "[Train] [llama3-8b] in [bf16] on [115M] [samples] in batches of [the best size] a GPU, "
        "within [any time], costing at most [any amount]."
    )
    untrained = first().put("chain", "workload", "network")  # has no loss
    assert untrained.of_kind("training").get("workload", "network") == "resnet50"
    assert untrained.of_kind("serving") == first()
    assert untrained.of_kind("inference").get("workload", "network") == "chain"


def test_another_kind_has_no_replicas_over_several_gpus():
    per_gpu = {"h200": {"splits": [2]}}
    own = first().put([1, 2], "candidates", "splits").put(per_gpu, "candidates", "per_gpu")
    assert own.spec.candidates.splits_of("h200_sxm") == (2,)
    assert own.of_kind("training").spec.candidates.splits_of("h200_sxm") is None
    assert own.of_kind("serving").spec.candidates.splits_of("h200_sxm") == (2,)


def test_the_sentences_of_the_other_kinds():
    images = first().put("resnet50", "workload", "network")
    inference, training = images.of_kind("inference"), images.of_kind("training")
    assert sentence_text(inference) == (
        "[Run] [resnet50] in [bf16] on [800] samples a second, in batches of at most [the best "
        "size] that gather for at most [no time], [99%] of samples within [100 ms], costing at "
        "most [any amount]."
    )
    assert sentence_text(training) == (
        "[Train] [resnet50] in [bf16] on [115M] [samples] in batches of [256] a GPU, within "
        "[1 week], costing at most [any amount]."
    )
    for draft in (inference, training):
        assert draft.get("candidates") == first().get("candidates")
        assert draft.get("prices") == first().get("prices")
    assert load_words(inference) == "2.88 million samples an hour"
    assert load_words(training) == "256 samples a step of one GPU"


@pytest.mark.parametrize(("name", "text", "path", "value"), [
    ("Requests a second", "35", ("load", "rate"), "35/s"),
    ("Requests a second", "600/min", ("load", "rate"), "600/min"),
    ("Tokens of a prompt", "2,048", ("workload", "prompt"), 2048),
    ("Tokens of a prompt", "768 to 1,280", ("workload", "prompt"), {"low": 768, "high": 1280}),
    ("Tokens of an answer", "300, sigma 0.5", ("workload", "output"), {"mean": 300, "sigma": 0.5}),
    ("Percentile", "95%", ("limits", "percentile"), 95),
    ("Percentile", "99.9", ("limits", "percentile"), 99.9),
    ("Time limit per token", "30", ("limits", "per_token"), "30 ms"),
    ("Time limit per token", "0.1 s", ("limits", "per_token"), "0.1 s"),
    ("Time limit per token", "", ("limits", "per_token"), None),
    ("Cost limit", "4", ("limits", "cost"), "4 USD/h"),
    ("Precisions", "bf16, fp8", ("candidates", "precisions"), ["bf16", "fp8"]),
    ("Network", "llama3-1b", ("workload", "network"), "llama3-1b"),
    ("Power price", "0.3", ("prices", "energy"), "0.3 USD/kWh"),
    ("Grams of CO₂ per kWh", "400", ("prices", "co2_g_per_kwh"), 400),
])  # fmt: skip
def test_a_field_writes_into_the_spec(name: str, text: str, path: tuple[str, ...], value: Any):
    assert entered(of_table(SERVE), name, text).get(*path) == value


def test_a_field_shows_the_value_of_the_spec():
    draft = of_table(SERVE | {"load": {"rate": "3000/h"}})
    assert "[0.8333] requests a second" in sentence_text(draft)
    draft = draft.put({"low": 768, "high": 1280}, "workload", "prompt")
    draft = draft.put({"mean": 300, "sigma": 0.5}, "workload", "output")
    draft = draft.put("p95", "limits", "percentile")
    assert "prompts of [768 to 1,280] tokens" in sentence_text(draft)
    assert "answers of [300, sigma 0.5], [95%] of tokens" in sentence_text(draft)


@pytest.mark.parametrize(("name", "text", "message"), [
    ("Requests a second", "", 'load.rate is missing: expected requests a second, such as "20/s"; '
     "add it under [load]"),
    ("Time limit per token", "5 parsecs", "limits.per_token = '5 parsecs': unknown unit "
     "'parsecs': expected a time above 0 with its unit, such as \"50 ms\" or \"2 weeks\"; known "
     "are ns, us, µs, ms, s, min, h, hour, hours, day, days, week, weeks, month, months, year, "
     "years"),
    ("Percentile", "100", "limits.percentile = 100: expected at least 1 and less than 100; write "
     "99"),
    ("Precisions", "", 'candidates.precisions = []: expected names, such as ["h100", "l40s"]; '
     "list them"),
    ("Building (PUE)", "0.5", "prices.pue = 0.5: expected at least 1, the power of the whole "
     "building over that of its computers; write 1.2"),
])  # fmt: skip
def test_the_planner_refuses_with_one_message(name: str, text: str, message: str):
    building = "PUE: the building's power divided by the computers' power"
    name = building if name == "Building (PUE)" else name
    with pytest.raises(InputError) as error:
        checked(entered(of_table(SERVE), name, text))
    assert str(error.value) == message


def test_a_trace_takes_the_place_of_rate_and_lengths(tmp_path: Path):
    draft = of_table(SERVE).of_trace(tmp_path / "day.csv")
    assert sentence_text(draft).startswith(
        "[Serve] [llama3-8b] in [bf16] for the requests of [day.csv], [99%] of tokens within"
    )
    assert draft.spec.workload.requests_csv == tmp_path / "day.csv"
    assert load_words(draft) == "arrivals and lengths of day.csv"
    assert entered(draft, "File of requests", "night.csv").spec.workload.requests_csv == (
        tmp_path / "night.csv"
    )
    assert draft.without_trace().table == SERVE
    assert entered(draft, "File of requests", "").table == SERVE


def test_the_amount_of_a_training_changes_its_unit():
    draft = first().of_kind("training")
    tokens = entered(draft, "Unit of the amount", "tokens")
    assert tokens.get("workload", "tokens") == "115M"
    assert tokens.get("workload", "samples") is None
    assert entered(tokens, "Unit of the amount", "samples").table == draft.table


def test_a_price_with_a_currency_of_its_own_has_one_unit():
    def words(draft: Draft) -> str:
        parts = [f"[{p.shown}]" if isinstance(p, Field) else p for p in prices(draft)[:3]]
        return " ".join(parts)

    assert words(first()) == "Power at [0.12] USD/kWh; the building takes"
    euro = first().put({"EUR": 1.1}, "prices", "rates").put("0.2 EUR/kWh", "prices", "energy")
    assert words(euro) == "Power at [0.2 EUR/kWh] ; the building takes"


def test_cards_show_choices_and_prices():
    own = SERVE | {"prices": {"hourly": {"h200": "10 EUR/h"}, "rates": {"EUR": 1.1}}}
    h200, l40s = candidate_cards(of_table(own))
    assert (h200.title, h200.price, h200.source) == ("H200 SXM 141GB", "10.00", "yours")
    assert h200.currency == "EUR"
    assert h200.counts == (("1", True), ("2", True), ("4", False), ("8", False))
    assert h200.engines == (
        ("eager", False),
        ("compiled+graph", False),
        ("vllm", True),
        ("tensorrt-llm", False),
    )
    assert (l40s.price, l40s.source) == ("1.41", "list, 2026")  # 1.55 USD
    assert l40s.source_whole.startswith("list, 2026: Nebius")
    assert not candidate_cards(switched(of_table(own), "l40s", False))[1].use
    batch = candidate_cards(of_table(own).of_kind("inference"))[0]
    assert batch.engines == (("eager", False), ("compiled+graph", True))


def test_cards_are_edited():
    draft = of_table(SERVE)
    draft = toggled(draft, "h200_sxm", "counts", "4")
    draft = toggled(draft, "h200_sxm", "engines", "eager")
    assert draft.get("candidates", "per_gpu") == {
        "h200_sxm": {"counts": [1, 2, 4], "engines": ["eager", "vllm"]}
    }
    assert draft.spec.candidates.counts_of("l40s") == (1, 2)
    draft = priced(draft, "h200_sxm", "2.5")
    assert draft.get("prices", "hourly") == {"h200_sxm": "2.5 USD/h"}
    assert priced(draft, "h200_sxm", "").get("prices") is None
    off = switched(draft, "h200_sxm", False)
    assert off.get("candidates", "per_gpu", "h200_sxm", "use") is False
    assert switched(off, "h200_sxm", True).text == draft.text
    assert with_gpu(off, "h200").text == draft.text  # dropping the card again switches it on
    added = with_gpu(draft, "b200")
    assert added.get("candidates", "gpus") == ["h200", "l40s", "b200_sxm"]
    assert without_gpu(added, "h200_sxm").get("candidates") == {
        "gpus": ["l40s", "b200_sxm"],
        "counts": [1, 2],
    }


def test_edits_of_cards_that_are_refused():
    draft = of_table(SERVE)
    one = without_gpu(draft, "l40s")
    for run, message in (
        (lambda: with_gpu(draft, "l40s"), "L40S is already a candidate; change its card"),
        (
            lambda: without_gpu(one, "h200_sxm"),
            "the only candidate cannot be removed; add another GPU first",
        ),
        (
            lambda: switched(one, "h200_sxm", False),
            "the last GPU that is on cannot be switched off; switch on another first",
        ),
        (
            lambda: toggled(draft, "l40s", "engines", "vllm"),
            "L40S needs at least one engine; choose another first, or switch the card off",
        ),
        (
            lambda: priced(draft, "l40s", "2 GBP/h").spec,
            "prices.hourly.l40s = '2 GBP/h': unknown currency 'GBP': expected one of USD; give "
            "its rate as prices.rates.GBP = USD each",
        ),
    ):
        with pytest.raises(InputError) as error:
            run()
        assert str(error.value) == message


def test_every_gpu_but_one():
    everything = of_table(SERVE | {"candidates": {"gpus": "all"}})
    count = len(candidate_cards(everything))
    assert count > 40
    rest = without_gpu(everything, "l40s")
    assert len(candidate_cards(rest)) == count - 1
    assert "l40s" not in rest.get("candidates", "gpus")


@pytest.mark.parametrize("name", ["llm-service", "llama-70b", "vision-trainer", "course", "lora"])
def test_an_example_is_opened(name: str):
    path = Path(f"examples/plans/{name}.toml")
    draft = opened(path)
    assert draft.table == tomllib.loads(path.read_text("utf-8"))
    assert sentence_text(draft) and candidate_cards(draft)


def test_a_plan_of_fine_tuning_says_its_adapters():
    assert load_words(opened(Path("examples/plans/lora.toml"))) == (
        "8 samples a step of one GPU; LoRA of rank 16 at query, value"
    )


def test_a_trace_next_to_its_plan_is_found_from_any_folder(tmp_path: Path):
    text = of_table(SERVE).of_trace(tmp_path / "x.csv").put("x.csv", "workload", "requests_csv")
    (tmp_path / "plan.toml").write_text(text.text, "utf-8")
    draft = opened(tmp_path / "plan.toml")
    assert draft.get("workload", "requests_csv") == str(tmp_path / "x.csv")

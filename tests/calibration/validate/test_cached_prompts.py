"""Benchmarks whose prompts cannot have been computed."""

from calibration.validate.cached_prompts import Cycle, impossible


def cycle(benchmark: str, first_token_s: float) -> Cycle:
    """64 clients with prompts of 2,000 and answers of 101 tokens on one card of 1.4534 PFLOP/s."""
    return Cycle(benchmark, "llama3-8b", 1, 1.4534e15, 64, 2000, 101, first_token_s, 0.01)


def test_products_of_prompts_leave_the_head_out() -> None:
    """8,030,261,248 parameters without norms, embedding and head: 32 layers of 218,103,808."""
    products = 2 * 32 * 218_103_808 * 64 * 2000
    assert cycle("a", 0.1).products_s == products / 1.4534e15  # 1.23 s


def test_one_impossible_run_marks_its_benchmark() -> None:
    """A cycle of 1.1 s is shorter than the products' 1.23 s; one of 1.3 s is longer."""
    assert impossible([cycle("a", 0.1), cycle("a", 0.3), cycle("b", 0.3)]) == {"a"}


def test_more_cards_share_the_products() -> None:
    two = Cycle("a", "llama3-8b", 2, 1.4534e15, 64, 2000, 101, 0.1, 0.01)
    assert impossible([two]) == set()

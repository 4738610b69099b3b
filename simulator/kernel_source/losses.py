"""Negative log-likelihood and its gradient."""

from __future__ import annotations

from simulator.errors import InputError
from simulator.kernel_source.element import Element, rule
from simulator.kernel_source.indices import variable
from simulator.kernel_source.layouts import At
from simulator.kernel_source.rows import Rows, let, over_row
from simulator.kernel_source.terms import Term


@rule("nll_loss_forward")
def nll_loss(e: Element) -> str:
    """The mean of the negative log-probabilities of the targets, and the number of targets."""
    if e.arg("reduction", 1) == 0 or e.has("weight"):
        raise InputError(f"{e.op.name} with weights or without a reduction cannot be exported")
    ignored, classes = e.arg("ignore_index", -100), e.layout("self").shape[-1]

    def counts(at: At) -> Term:
        target = e.term("target", at)
        e.fill("target", f"index:{min(classes.values)}")
        return e.writer.let(
            "counts", f"{target.text} != {ignored}", target.depends, (e.op.number, "counts", target)
        )

    def each(_: Rows, at: At) -> Term:
        is_counted, target = counts(at), e.term("target", at)
        with e.writer.guarded(is_counted):
            x = e.term("self", (*at, variable(target.text, classes, target.depends)))
        return let(e, "lost", [x], f"tl.where({is_counted.text}, -{x.text}, 0.0)")

    def one(_: Rows, at: At) -> Term:
        is_counted = counts(at)
        return let(e, "one", [is_counted], f"tl.where({is_counted.text}, 1.0, 0.0)")

    counted = over_row(e, "sum", (), one, "counted")
    if e.place == 1:
        return counted
    lost = over_row(e, "sum", (), each, "loss")
    return f"{lost} / {counted}" if e.arg("reduction", 1) == 1 else lost


@rule("nll_loss_backward")
def nll_loss_backward(e: Element) -> str:
    """A negative share of the gradient at each target, zero elsewhere."""
    mean, ignored = e.arg("reduction", 1) == 1, e.arg("ignore_index", -100)
    if e.has("weight") or e.arg("reduction", 1) == 0:
        raise InputError(f"{e.op.name} with weights or without a reduction cannot be exported")
    target = e.use(e.term("target", e.at[:-1]))
    e.fill("target", f"index:{min(e.layout('self').shape[-1].values)}")
    e.fill("total_weight", "positive")
    share = f"{e.use(e.term('grad_output', ()))}"
    if mean:
        share += f" / {e.use(e.term('total_weight', ()))}"
    is_target = f"({e.index(e.at[-1])} == {target}) & ({target} != {ignored})"
    return f"tl.where({is_target}, -({share}), 0.0)"

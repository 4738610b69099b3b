"""The variants in which Dynamo compiles one function: one for each set of guard values, up to
`torch._dynamo.config.recompile_limit`; further variants run eagerly.

The guards of a function are the type of its module, the shapes of the module's parameters, and the
integers, strings and flags among the module's attributes that each call reads
(`torch._dynamo.config.allow_unspec_int_on_nn_module` is off). Sizes of other tensors, and floats,
become symbols at the second variant, so they are not guarded.
"""

from __future__ import annotations

import dis
from collections.abc import Hashable
from functools import cache
from types import CodeType, FrameType
from typing import cast

from torch import nn

_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_PLAIN = (int, str, type(None))  # a flag is an integer


def guards(frame: FrameType) -> Hashable:
    """The guard values of the method that `frame` calls; None if it is not a method of a module."""
    code = frame.f_code
    module = frame.f_locals.get("self") if code.co_varnames[:1] == ("self",) else None
    if not isinstance(module, nn.Module):
        return None
    attributes = cast("dict[str, object]", module.__dict__)
    if "_parameters" not in attributes:  # at the start of its constructor
        return None
    read = [
        name for name in _attributes_read(code) if isinstance(attributes.get(name, 0.0), _PLAIN)
    ]
    return (
        type(module),
        tuple([(name, attributes[name]) for name in read]),
        tuple([(name, tuple(p.shape)) for name, p in module.named_parameters()]),
    )


@cache
def _attributes_read(code: CodeType) -> tuple[str, ...]:
    """Attributes that every call of a function reads, because no jump skips them."""
    names: list[str] = []
    farthest_jump = 0
    for instruction in dis.get_instructions(code):
        if instruction.opcode in _JUMPS:
            farthest_jump = max(farthest_jump, int(instruction.argval))
        elif instruction.offset >= farthest_jump and instruction.opname in (
            "LOAD_ATTR",
            "LOAD_METHOD",
        ):
            names.append(str(instruction.argval))
        elif instruction.opname.startswith("RETURN_"):
            break
    return tuple(names)


class Variants:
    """The variants of each function, in the order in which a step calls them."""

    def __init__(self) -> None:
        self._seen: dict[CodeType, set[Hashable]] = {}

    def is_compiled(self, code: CodeType, variant: Hashable) -> bool:
        """Whether a call of this variant is compiled."""
        from torch._dynamo import config  # slow to import, and only graph breaks need it

        seen = self._seen.setdefault(code, set())
        if variant not in seen and len(seen) < config.recompile_limit:
            seen.add(variant)
        return variant in seen

"""Facts of code objects are computed once for each object."""

from types import CodeType

from simulator.tracing.python_code.by_code import ByCode


def compiled(file: str) -> CodeType:
    return compile("x = 1", file, "exec")


def test_each_object_is_computed_once() -> None:
    seen: list[CodeType] = []
    length = ByCode(lambda code: seen.append(code) or len(code.co_filename))
    code = compiled("a.py")
    assert [length(code), length(code)] == [4, 4] and seen == [code]


def test_equal_code_of_two_files_is_computed_for_each() -> None:
    one, other = compiled("a.py"), compiled("long/a.py")
    assert one == other  # Python compares names and instructions, but no files
    length = ByCode(lambda code: len(code.co_filename))
    assert (length(one), length(other)) == (4, 9)

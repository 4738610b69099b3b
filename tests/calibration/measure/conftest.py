"""Operations and a clock for the tests of a sweep."""

from calibration.sweeps.registry import Operation, Point


def swept(name: str, count: int) -> Operation:
    return Operation(
        name, "library", lambda n: int, tuple(Point(name, {"n": n}) for n in range(count))
    )


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

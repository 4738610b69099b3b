"""The errors that Ridgepoint raises on purpose."""


class RidgepointError(Exception):
    """The root of Ridgepoint's own errors; anything else that escapes is a bug."""


class InputError(RidgepointError):
    """What came from outside cannot be used.

    The message says what came, what was expected and what to do.
    """

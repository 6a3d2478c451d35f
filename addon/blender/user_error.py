# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on's only exception: a problem that the user can fix, as one translated sentence."""

import functools
from collections.abc import Callable
from typing import Any

from .translations import Sentence


class UserError(Exception):
    """`sentence` is English, with values for its {fields}, as for `tr`; translated when it is shown."""

    def __init__(self, sentence: str, /, **values: object) -> None:
        super().__init__(Sentence(sentence, **values))


def cancels(execute: Callable[[Any, Any], set[Any]]) -> Callable[[Any, Any], set[Any]]:
    """Decorates `execute` of an operator: a UserError is reported and cancels it."""

    @functools.wraps(execute)
    def wrapped(self: Any, context: Any) -> set[Any]:
        try:
            return execute(self, context)
        except UserError as error:
            return cancelled(self, error)

    return wrapped


def cancelled(operator: Any, error: UserError) -> set[Any]:
    """Report the error and cancel an operator; in a script this raises a RuntimeError."""
    operator.report({"ERROR"}, str(error))
    return {"CANCELLED"}

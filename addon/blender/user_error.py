# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on's only exception: a problem that the user can fix, as one translated sentence."""

from typing import Any

from .translations import Sentence


class UserError(Exception):
    """`sentence` is English, with values for its {fields}, as for `tr`; translated when it is shown."""

    def __init__(self, sentence: str, /, **values: object) -> None:
        super().__init__(Sentence(sentence, **values))


def cancelled(operator: Any, error: UserError) -> set[Any]:
    """Report the error and cancel an operator; in a script this raises a RuntimeError."""
    operator.report({"ERROR"}, str(error))
    return {"CANCELLED"}

# SPDX-License-Identifier: GPL-3.0-or-later
"""The one exception of the add-on: what a user can mend, as one sentence in the user's language."""

from typing import Any

from .translations import tr


class UserError(Exception):
    """`sentence` is English, with values for its {places}, as `tr` takes them."""

    def __init__(self, sentence, /, **values):
        super().__init__(tr(sentence, **values))


def cancelled(operator: Any, error: UserError) -> set[str]:
    """End an operator by the error: a report in a window, a RuntimeError in a script."""
    operator.report({"ERROR"}, str(error))
    return {"CANCELLED"}

# SPDX-License-Identifier: GPL-3.0-or-later
"""Import MMD Motion: a VMD or VPD file as keyframes that match MMD.

`operators` and `clear` have the operators; `channels` computes, `keyframes` writes.
"""

from . import clear, operators


def register() -> None:
    operators.register()
    clear.register()


def unregister() -> None:
    clear.unregister()
    operators.unregister()

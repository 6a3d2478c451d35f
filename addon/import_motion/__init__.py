# SPDX-License-Identifier: GPL-3.0-or-later
"""Import MMD Motion: a VMD or VPD as keyframes that stand where MMD puts the model.

`operators` and `clear` are what users call; `channels` computes, `keyframes` writes.
"""

from . import clear, operators


def register():
    operators.register()
    clear.register()


def unregister():
    clear.unregister()
    operators.unregister()

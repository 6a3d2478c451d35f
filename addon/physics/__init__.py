# SPDX-License-Identifier: GPL-3.0-or-later
"""Hair and clothes moved by the rigid bodies of the model file, along a motion or an armature's keys.

`simulation` computes them frame after frame, for bakes and imports of motions. The preview jumps to
any frame: it plays what `operators` have simulated once, from the file that `cache` knows; so do the
bakes of what an armature's own channels hold, which is `keyed`.
"""

from . import keyed, operators


def register():
    operators.register()
    keyed.register()


def unregister():
    keyed.unregister()
    operators.unregister()

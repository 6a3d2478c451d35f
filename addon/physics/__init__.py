# SPDX-License-Identifier: GPL-3.0-or-later
"""Hair and clothes moved by the model's rigid bodies, for a motion or an armature's keyframes.

`simulation` computes them frame by frame, for bakes and imports of motions. The preview can jump to
any frame, so it plays a file that Simulate (`operators`; several models: `together`) wrote and `cache`
reads (`playback`). Bakes of an armature's own keyframes (`keyed`) do the same. Without such a file,
hair moves `live` in the viewport.
"""

from . import keyed, live, operators, playback, together


def register() -> None:
    operators.register()
    together.register()
    keyed.register()
    playback.register()
    live.register()


def unregister() -> None:
    live.unregister()
    playback.unregister()
    keyed.unregister()
    together.unregister()
    operators.unregister()

# SPDX-License-Identifier: GPL-3.0-or-later
"""Import MMD Motion: a VMD or VPD file as keyframes that match MMD.

`operators` and `clear` have the operators; `channels` computes, `keyframes` writes. `physics_switches`
adds again what library overrides lose; `moved_files` follows files that were moved with the .blend.
"""

from . import clear, moved_files, operators, physics_switches


def register() -> None:
    operators.register()
    clear.register()
    physics_switches.register()
    moved_files.register()


def unregister() -> None:
    moved_files.unregister()
    physics_switches.unregister()
    clear.unregister()
    operators.unregister()

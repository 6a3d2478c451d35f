# SPDX-License-Identifier: GPL-3.0-or-later
"""Hair and clothes moved by the rigid bodies of the model file, along a motion.

`simulation` computes them frame after frame, for bakes and imports. The preview jumps to any frame:
it plays what `operators` have simulated once, from the file that `cache` knows.
"""

from . import operators

register = operators.register
unregister = operators.unregister

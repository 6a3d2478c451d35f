# SPDX-License-Identifier: GPL-3.0-or-later
"""Import MMD Motion: a VMD or VPD as keyframes that stand where MMD puts the model.

`operators` are what users call; `channels` computes, `keyframes` writes.
"""

from . import operators

register = operators.register
unregister = operators.unregister

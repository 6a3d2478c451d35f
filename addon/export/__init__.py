# SPDX-License-Identifier: GPL-3.0-or-later
"""Models go out by Blender's own exporters, with the options that fit what was baked."""

from . import operators

register = operators.register
unregister = operators.unregister

# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore Deform Data: what another importer has lost comes back from the model's file.

`operators` are what users call; `deform` reads and writes, `vertex_match` tells which vertex of the
file each vertex of a mesh was.
"""

from . import operators

register = operators.register
unregister = operators.unregister

# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore Deform Data: read from the model's file what another importer has lost.

`operators` has the operator; `deform` reads and writes, `vertex_match` finds the file's vertex for each
vertex of a mesh.
"""

from . import operators

register = operators.register
unregister = operators.unregister

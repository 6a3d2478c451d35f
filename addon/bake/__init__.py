# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake MMD Skin: the deformation of a pose or of many, kept where every exporter finds it.

`operators` are what users call; `job` takes poses from `sources`, frame after frame, hands them to
targets (`shape_keys`, `mesh_cache`, `corrective`) and notes in `record` what Clear Bake needs.
"""

from . import operators

register = operators.register
unregister = operators.unregister

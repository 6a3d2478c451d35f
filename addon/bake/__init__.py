# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake MMD Skin: store the deformation of one or many frames in shape keys or caches.

`operators` has the operators; `job` takes poses from `sources` frame by frame and passes them to the
targets (`shape_keys`, `joint_keys`, `mesh_cache`). `bake_state` stores what Clear Bake needs,
`mesh_cache` restores that where Blender drops it.
"""

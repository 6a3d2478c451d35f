# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake MMD Skin: store the deformation of one or many frames in shape keys or caches.

`operators` has the operators; `job` goes from frame to frame, whose poses `sources` pass to a `target` for
each mesh (`shape_keys`, `joint_keys`, `mesh_cache`). `bake_state` stores what Clear Bake needs,
`mesh_cache` restores that where Blender drops it.
"""

# SPDX-License-Identifier: GPL-3.0-or-later
"""Live preview: a driver on the mesh writes an attribute of the evaluated copy before Blender evaluates
the geometry, and a small node modifier after the Armature modifier sets the positions from it.

The original mesh has only zeros in the attribute, and zero means "leave this vertex to the Armature
modifier": that is what shows without the add-on, after a mesh edit or on an error. Every evaluation
(viewport, render, second scene or view layer, sub-frame) has its own copy and its own call, so there
is no stale state and no frame of delay. The driver's variables only set the order: Blender
evaluates bones and keys before the call.

A mesh is live if it has driver, attribute and modifier; there is no other state. Users call
`operators` or set the property. `switch` adds and removes the three parts, and its handlers keep them
working; the driver calls `driver_function`, and so does `live_timer` while live physics moves something.
"""

# SPDX-License-Identifier: GPL-3.0-or-later
"""Live deformation: a driver on the mesh writes an attribute of the evaluated copy, before Blender
evaluates the geometry, and a small node modifier after the armature's puts it in place.

The original mesh holds the attribute with zeros only, and zero means "leave this vertex to the
armature modifier": a file opened without the add-on, a changed mesh or an error show that. Every
evaluation (viewport, render, second scene or view layer, sub-frame) is a copy of its own and gets
its own call, so there is no state to go stale and no frame of delay. The driver's variables are
there for their order only: they make Blender finish bones and keys before the call.

A mesh is live where driver, attribute and modifier are all in place; nothing else remembers it.
`operators` and the property are what users call; `switch` puts the three in place, `tick` is what
the driver calls, `handlers` keep the driver working.
"""

from . import handlers, operators

_parts = (operators, handlers)


def register():
    for part in _parts:
        part.register()


def unregister():
    for part in reversed(_parts):
        part.unregister()

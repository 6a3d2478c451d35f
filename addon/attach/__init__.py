# SPDX-License-Identifier: GPL-3.0-or-later
"""Attach to Bone and Show Pose on Bones: the pose that a model shows, whatever its source, on bones.

An armature of its own, the display armature, has the bones that objects are attached to, or all.
Objects follow it by Child Of constraints, so they keep their offset, and users can animate the
influence. Each of its bones copies the transforms of the model's bone: that is what shows without the
add-on, for linked models and on an error. If the model shows another pose, a driver on a bone above
all others writes it to the evaluated copy before Blender evaluates them, and mutes these constraints.

Users call `operators`; `display_armature` adds and removes bones and constraints; `driver` has the driver,
the function that it calls, and handlers that keep that working.
"""

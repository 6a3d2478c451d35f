# SPDX-License-Identifier: MIT
"""Bodies and joints with defaults, for scenes made by hand."""

import mmdskin


def body(**fields):
    """A sphere of radius 1 and mass 1 without damping."""
    defaults = {
        "name": "",
        "name_english": "",
        "bone": -1,
        "group": 0,
        "mask": 0xFFFF,
        "shape": "sphere",
        "size": (1, 1, 1),
        "position": (0, 0, 0),
        "rotation": (0, 0, 0),
        "mass": 1,
        "linear_damping": 0,
        "angular_damping": 0,
        "restitution": 0,
        "friction": 0.5,
        "mode": "physics",
    }
    return mmdskin.RigidBody(**(defaults | fields))


def joint(a, b, **fields):
    """A joint at the origin with all six degrees of freedom locked."""
    zero = (0, 0, 0)
    defaults = {
        "name": "",
        "name_english": "",
        "kind": "spring_6dof",
        "body_a": a,
        "body_b": b,
        "position": zero,
        "rotation": zero,
        "translation_lower": zero,
        "translation_upper": zero,
        "rotation_lower": zero,
        "rotation_upper": zero,
        "translation_spring": zero,
        "rotation_spring": zero,
    }
    return mmdskin.Joint(**(defaults | fields))

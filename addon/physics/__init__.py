# SPDX-License-Identifier: GPL-3.0-or-later
"""Hair and clothes moved by the model's rigid bodies, for a motion or an armature's keyframes.

`simulation` computes any frame of a motion file. An armature's own keyframes, and models that are simulated
together with some (`group`), play a file that Simulate (`operators`) wrote and `cache` reads (`playback`).
Without such a file, hair moves `live` in the viewport.
"""

# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of a motion file."""


class MotionError(Exception):
    """The motion cannot be used; the text is a sentence for the user."""


def open(armature, model_path, motion_path, start, real_time, fps):
    raise MotionError("Motion files are not read yet")

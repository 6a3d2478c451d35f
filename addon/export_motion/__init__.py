# SPDX-License-Identifier: GPL-3.0-or-later
"""Export MMD Motion: the animation of models, or of the camera, as a VMD; a pose as a VPD.

`samples` reads the scene frame by frame, `job` lets the native module find keys and writes files.
"""

# SPDX-License-Identifier: GPL-3.0-or-later
"""MMD models in a scene: objects, meshes, bones, sliders, and their files."""

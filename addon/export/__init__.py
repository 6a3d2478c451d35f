# SPDX-License-Identifier: GPL-3.0-or-later
"""Export of models by Blender's own exporters, with options that suit the bake."""

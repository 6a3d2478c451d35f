# SPDX-License-Identifier: GPL-3.0-or-later
"""What depends on Blender alone: its versions and animation data, translations, the native module.

Nothing here knows about MMD models.
"""

import pathlib

ADDON = __package__.rpartition(".")[0]  # the add-on's name in Blender's preferences
FOLDER = pathlib.Path(__file__).parent.parent  # of the add-on

# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw the options of an operator that reads or writes a file."""

import bpy

from ..blender.translations import name_of


class OptionsDialog:
    """Base class of such operators."""

    # All options, as dialogs and the redo panel (F9) show them.
    shown: tuple[str, ...] = ()

    def is_used(self, option: str) -> bool:
        """Whether an option has an effect with the current values of the others."""
        return True

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split, layout.use_property_decorate = True, False
        for option in filter(self.is_used, self.shown):
            # A column of its own stacks flags vertically: side by side, their labels are cut.
            name = name_of(self.properties, option)
            layout.column().prop(self, option, text=name, translate=False)

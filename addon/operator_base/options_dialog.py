# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of an operator, in a dialog or beside files."""

from types import SimpleNamespace

import bpy

from ..blender.translations import name_of


class OptionsDialog:
    """Base class of such operators."""

    # All options, as dialogs and the redo panel (F9) show them.
    shown: tuple[str, ...] = ()

    def is_used(self, option: str) -> bool:
        """Whether an option has an effect with the current values of the others."""
        return True

    def _options(self) -> SimpleNamespace:
        """The options as they are now: Blender may free the operator while its job runs."""
        return SimpleNamespace(**{name: getattr(self, name) for name in self.shown})

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split, layout.use_property_decorate = True, False
        for option in filter(self.is_used, self.shown):
            # A column of its own stacks flags vertically: side by side, their labels are cut.
            name = name_of(self.properties, option)
            layout.column().prop(self, option, text=name, translate=False)

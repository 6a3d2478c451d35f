# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on's preferences: defaults for the import dialogs.

A script that sets no option gets the operator's own default, independent of the preferences.
"""

from typing import Any

from bpy.props import BoolProperty
from bpy.types import AddonPreferences, Context

from ..blender import ADDON, registration
from ..blender.translations import name_of
from ..import_model.operators import MMDSKIN_OT_import_model
from ..import_motion.operators import MMDSKIN_OT_import_motion
from ..operator_base import properties
from ..operator_base.importing import preference
from .report import MMDSKIN_OT_report

_IMPORTERS = (MMDSKIN_OT_import_model, MMDSKIN_OT_import_motion)


def _declared(operator: type, option: str) -> Any:
    """The annotation of an operator's property, from the base class that defines it."""
    return next(
        base.__annotations__[option]
        for base in operator.__mro__
        if option in getattr(base, "__annotations__", ())
    )


_Options = properties.declaring(
    "_Options",
    {
        preference(operator, option): _declared(operator, option)
        for operator in _IMPORTERS
        for option in operator.preferred
    }
    | {
        # On for people, off for scripts, as in the versions before these options.
        preference(MMDSKIN_OT_import_model, option): properties.changed(
            _declared(MMDSKIN_OT_import_model, option), default=True
        )
        for option in ("live", "live_physics")
    },
)


class MMDSKIN_AP_preferences(_Options, AddonPreferences):
    bl_idname = ADDON

    details: BoolProperty(
        name="Details in the Console",
        description="Print tracebacks of unexpected errors in MMD Skinning, for bug reports",
    )

    def draw(self, context: Context) -> None:
        for operator in _IMPORTERS:
            box = self.layout.box()
            box.use_property_split = True
            box.use_property_decorate = False
            box.label(text=operator.bl_label, text_ctxt="Operator")
            for option in operator.preferred:
                name = preference(operator, option)
                box.column().prop(self, name, text=name_of(self, name), translate=False)
        self.layout.prop(self, "details", text=name_of(self, "details"), translate=False)
        self.layout.operator(MMDSKIN_OT_report.bl_idname, icon="COPYDOWN")


register, unregister = registration.functions(__name__)

# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on's preferences: what the dialogs of imports begin with.

A script that gives no option gets the operator's own default, whoever runs it.
"""

import bpy

from . import registration
from .import_model.operators import MMDSKIN_OT_import_model
from .import_motion.operators import MMDSKIN_OT_import_motion
from .importing import preference
from .properties import declaring
from .translations import name_of

_IMPORTERS = (MMDSKIN_OT_import_model, MMDSKIN_OT_import_motion)


def _declared(operator, option):
    """The annotation of an operator's property, from the class of its bases that has it."""
    return next(
        base.__annotations__[option]
        for base in operator.__mro__
        if option in getattr(base, "__annotations__", ())
    )


_Options = declaring(
    "_Options",
    {
        preference(operator, option): _declared(operator, option)
        for operator in _IMPORTERS
        for option in operator.preferred
    },
)


class MMDSKIN_AP_preferences(_Options, bpy.types.AddonPreferences):
    bl_idname = __package__

    def draw(self, context):
        for operator in _IMPORTERS:
            box = self.layout.box()
            box.use_property_split = True
            box.use_property_decorate = False
            box.label(text=operator.bl_label, text_ctxt="Operator")
            for option in operator.preferred:
                name = preference(operator, option)
                box.column().prop(self, name, text=name_of(self, name), translate=False)


register, unregister = registration.of(MMDSKIN_AP_preferences)

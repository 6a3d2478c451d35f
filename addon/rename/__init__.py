# SPDX-License-Identifier: GPL-3.0-or-later
"""Switch Names: rename bones, shape keys and materials to their Japanese or English names.

`operators` has the operator; `renaming` renames data and updates everything that stores a name.
"""

from . import operators

register = operators.register
unregister = operators.unregister

# SPDX-License-Identifier: GPL-3.0-or-later
"""Switch Names: rename bones, shape keys and materials to their Japanese or English names."""

from .operators import register as register
from .operators import unregister as unregister

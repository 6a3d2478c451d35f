# SPDX-License-Identifier: GPL-3.0-or-later
"""Mirror a pose: bones by their rest poses, whatever their rolls, and sliders by their names."""

from .operators import register as register
from .operators import unregister as unregister

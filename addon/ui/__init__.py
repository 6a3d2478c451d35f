# SPDX-License-Identifier: GPL-3.0-or-later
"""The user interface: panels, menus, preferences and the properties of a model."""

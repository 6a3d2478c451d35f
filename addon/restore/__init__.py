# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore Deform Data: read from the model's file what another importer has lost."""

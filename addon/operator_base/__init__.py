# SPDX-License-Identifier: GPL-3.0-or-later
"""Base classes of operators: models, files, options and running as a modal job."""

# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the pose of a model comes from, and skinning by it."""

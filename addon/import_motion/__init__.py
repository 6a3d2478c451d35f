# SPDX-License-Identifier: GPL-3.0-or-later
"""Import MMD Motion: a VMD or VPD file as keyframes that match MMD.

`operators` has the operators; `solved_keys`, `original_keys` and `poses` find the keys, `keyframes`
writes them. `handlers` add again what library overrides lose, and follow files that were moved with the .blend.
"""

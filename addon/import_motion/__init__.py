# SPDX-License-Identifier: GPL-3.0-or-later
"""Import MMD Motion: a VMD or VPD file as keyframes that match MMD.

`operators` has the operators; `channels` computes, `keyframes` writes. `handlers`
add again what library overrides lose, and follow files that were moved with the .blend.
"""

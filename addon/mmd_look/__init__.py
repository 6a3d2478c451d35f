# SPDX-License-Identifier: GPL-3.0-or-later
"""MMD Look: what MMD shows, in EEVEE and Cycles: toon, sphere maps, edges and MMD's light.

`shading` has the shared node groups with MMD's formulas. `materials` puts them beside the nodes of
a material and lets drivers feed them. `edges` and `ground` add `followers`: objects with geometry nodes
that follow the evaluated mesh. `switch` does this for a model. The light is in `scene.light`.
"""

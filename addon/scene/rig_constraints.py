# SPDX-License-Identifier: GPL-3.0-or-later
"""The constraints for MMD's IK and append, from our importer and from mmd_tools.

They are for posing by hand. If bones have solved keys, the constraints must be muted, else everything
would be solved twice.
"""

from collections.abc import Iterator

from bpy.types import Constraint, Object, PoseBone

# mmd_tools' names: its operators find, replace and export such constraints.
ROTATION, LOCATION = "mmd_additional_rotation", "mmd_additional_location"
IK_LIMIT = "mmd_ik_limit_override"


def solving(armature: Object) -> Iterator[tuple[PoseBone, Constraint]]:
    """Each constraint for the model's IK, append and limits, with its bone."""
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            if is_ik(constraint, armature) or constraint.name.startswith(
                (ROTATION, LOCATION, IK_LIMIT)
            ):
                yield bone, constraint


def is_ik(constraint: Constraint, armature: Object) -> bool:
    """Whether a constraint is IK with a target bone in the same armature."""
    return constraint.type == "IK" and constraint.target == armature and bool(constraint.subtarget)


def by_ik_bone(armature: Object) -> dict[str, list[tuple[PoseBone, Constraint]]]:
    """{IK bone: the constraints of its chain, each with its bone}."""
    found: dict[str, list] = {}
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            if is_ik(constraint, armature):
                chain = [bone, *bone.parent_recursive][: constraint.chain_count or None]
                limits = [
                    (link, limit)
                    for link in chain
                    for limit in link.constraints
                    if limit.name.startswith(IK_LIMIT)
                ]
                found.setdefault(constraint.subtarget, []).extend([(bone, constraint), *limits])
    return found

# SPDX-License-Identifier: MIT
"""The slots of a humanoid, named as in VRM 1.0."""

import itertools

SIDES = ("left", "right")
ARM = ("UpperArm", "LowerArm", "Hand")
LEG = ("UpperLeg", "LowerLeg", "Foot")
LIMBS = {"arm": ("Shoulder", *ARM), "leg": (*LEG, "Toes")}
FINGERS = ("Thumb", "Index", "Middle", "Ring", "Little")
PHALANGES = ("Proximal", "Intermediate", "Distal")
REQUIRED = ("hips", "head", *(side + part for side in SIDES for part in ARM + LEG))
SLOTS = (
    *("hips", "neck", "head", "jaw"),
    *(side + part for side in SIDES for limb in LIMBS.values() for part in limb),
    *(side + finger + phalanx for side in SIDES for finger in FINGERS for phalanx in PHALANGES),
    *(side + "Eye" for side in SIDES),
)
SPINE = ("spine", "chest", "upperChest")  # of which the first and the last bound the spine
# Of the bones that end where another slot begins.
NEXT = {
    side + a: side + b
    for side in SIDES
    for chain in (ARM, LEG, *([f + p for p in PHALANGES] for f in FINGERS))
    for a, b in itertools.pairwise(chain)
}

# SPDX-License-Identifier: MIT
"""Humanoid rigs of our own, in the naming conventions of programs, and variants of a rig."""

import numpy as np
from mmdskin import Skeleton

SIDES = ("left", "right")
FINGERS = ("Thumb", "Index", "Middle", "Ring", "Little")
PHALANGES = ("Proximal", "Intermediate", "Distal")
_BODY = "hips spine neck head Shoulder UpperArm LowerArm Hand UpperLeg LowerLeg Foot Toes".split()

# Names of _BODY, "-" for none; {L} {l} {Left} {left} {左} stand for the side.
CONVENTIONS = {
    "Mixamo": "mixamorig:Hips mixamorig:Spine mixamorig:Neck mixamorig:Head"
    " mixamorig:{Left}Shoulder mixamorig:{Left}Arm mixamorig:{Left}ForeArm mixamorig:{Left}Hand"
    " mixamorig:{Left}UpLeg mixamorig:{Left}Leg mixamorig:{Left}Foot mixamorig:{Left}ToeBase",
    "Unity humanoid": "Hips Spine Neck Head {Left}Shoulder {Left}UpperArm {Left}LowerArm {Left}Hand"
    " {Left}UpperLeg {Left}LowerLeg {Left}Foot {Left}Toes",
    "VRoid": "J_Bip_C_Hips J_Bip_C_Spine J_Bip_C_Neck J_Bip_C_Head J_Bip_{L}_Shoulder"
    " J_Bip_{L}_UpperArm J_Bip_{L}_LowerArm J_Bip_{L}_Hand J_Bip_{L}_UpperLeg J_Bip_{L}_LowerLeg"
    " J_Bip_{L}_Foot J_Bip_{L}_ToeBase",
    "Unreal": "pelvis spine_01 neck_01 head clavicle_{l} upperarm_{l} lowerarm_{l} hand_{l}"
    " thigh_{l} calf_{l} foot_{l} ball_{l}",
    "Rigify": "spine spine.001 spine.004 spine.006 shoulder.{L} upper_arm.{L} forearm.{L} hand.{L}"
    " thigh.{L} shin.{L} foot.{L} toe.{L}",
    "Auto-Rig Pro": "root.x spine_01.x neck.x head.x shoulder.{l} arm_stretch.{l}"
    " forearm_stretch.{l} hand.{l} thigh_stretch.{l} leg_stretch.{l} foot.{l} toes_01.{l}",
    "Genesis 8": "hip abdomenLower neckLower head {l}Collar {l}ShldrBend {l}ForearmBend {l}Hand"
    " {l}ThighBend {l}Shin {l}Foot {l}Toe",
    "Genesis 9": "hip spine1 neck1 head {l}_shoulder {l}_upperarm {l}_forearm {l}_hand {l}_thigh"
    " {l}_shin {l}_foot {l}_toes",
    "Character Creator": "CC_Base_Hip CC_Base_Waist CC_Base_NeckTwist01 CC_Base_Head"
    " CC_Base_{L}_Clavicle CC_Base_{L}_Upperarm CC_Base_{L}_Forearm CC_Base_{L}_Hand"
    " CC_Base_{L}_Thigh CC_Base_{L}_Calf CC_Base_{L}_Foot CC_Base_{L}_ToeBase",
    "Biped": "Bip01_Pelvis Bip01_Spine Bip01_Neck Bip01_Head Bip01_{L}_Clavicle"
    " Bip01_{L}_UpperArm Bip01_{L}_Forearm Bip01_{L}_Hand Bip01_{L}_Thigh Bip01_{L}_Calf"
    " Bip01_{L}_Foot Bip01_{L}_Toe0",
    "Valve": "ValveBiped.Bip01_Pelvis ValveBiped.Bip01_Spine ValveBiped.Bip01_Neck1"
    " ValveBiped.Bip01_Head1 ValveBiped.Bip01_{L}_Clavicle ValveBiped.Bip01_{L}_UpperArm"
    " ValveBiped.Bip01_{L}_Forearm ValveBiped.Bip01_{L}_Hand ValveBiped.Bip01_{L}_Thigh"
    " ValveBiped.Bip01_{L}_Calf ValveBiped.Bip01_{L}_Foot ValveBiped.Bip01_{L}_Toe0",
    "SMPL": "Pelvis Spine1 Neck Head {L}_Collar {L}_Shoulder {L}_Elbow {L}_Wrist {L}_Hip {L}_Knee"
    " {L}_Ankle {L}_Foot",
    "SMPL-X": "pelvis spine1 neck head {left}_collar {left}_shoulder {left}_elbow {left}_wrist"
    " {left}_hip {left}_knee {left}_ankle {left}_foot",
    "Acclaim": "root lowerback lowerneck head {l}clavicle {l}humerus {l}radius {l}hand {l}femur"
    " {l}tibia {l}foot {l}toes",
    "CMU": "Hips LowerBack Neck Head {Left}Shoulder {Left}Arm {Left}ForeArm {Left}Hand {Left}UpLeg"
    " {Left}Leg {Left}Foot {Left}ToeBase",
    "LAFAN1": "Hips Spine Neck Head {Left}Shoulder {Left}Arm {Left}ForeArm {Left}Hand {Left}UpLeg"
    " {Left}Leg {Left}Foot {Left}Toe",
    "Rokoko": "Hips Spine1 Neck Head {Left}Shoulder {Left}Arm {Left}ForeArm {Left}Hand {Left}Thigh"
    " {Left}Shin {Left}Foot {Left}Toe",
    "Xsens": "Pelvis L5 Neck Head {Left}Shoulder {Left}UpperArm {Left}Forearm {Left}Hand"
    " {Left}UpperLeg {Left}LowerLeg {Left}Foot {Left}Toe",
    "Kinect": "HipCenter Spine ShoulderCenter Head - Shoulder{Left} Elbow{Left} Wrist{Left}"
    " Hip{Left} Knee{Left} Ankle{Left} Foot{Left}",
    "MotionBuilder": "Character1_Hips Character1_Spine Character1_Neck Character1_Head"
    " Character1_{Left}Shoulder Character1_{Left}Arm Character1_{Left}ForeArm"
    " Character1_{Left}Hand Character1_{Left}UpLeg Character1_{Left}Leg Character1_{Left}Foot"
    " Character1_{Left}ToeBase",
    "AdvancedSkeleton": "Root_M Spine1_M Neck_M Head_M Scapula_{L} Shoulder_{L} Elbow_{L} Wrist_{L}"
    " Hip_{L} Knee_{L} Ankle_{L} Toes_{L}",
    "Second Life": "mPelvis mTorso mNeck mHead mCollar{Left} mShoulder{Left} mElbow{Left}"
    " mWrist{Left} mHip{Left} mKnee{Left} mAnkle{Left} mFoot{Left}",
    "FFXIV": "j_kosi j_sebo_a j_kubi j_kao j_sako_{l} j_ude_a_{l} j_ude_b_{l} j_te_{l} j_asi_a_{l}"
    " j_asi_b_{l} j_asi_d_{l} j_asi_e_{l}",
    "MMD": "下半身 上半身 首 頭 {左}肩 {左}腕 {左}ひじ {左}手首 {左}足 {左}ひざ {左}足首 {左}つま先",
    "MMD in English": "lower_body upper_body neck head shoulder_{L} arm_{L} elbow_{L} wrist_{L}"
    " leg_{L} knee_{L} ankle_{L} toe_{L}",
    "MMD in Blender": "下半身 上半身 首 頭 肩.{L} 腕.{L} ひじ.{L} 手首.{L} 足.{L} ひざ.{L} 足首.{L} つま先.{L}",
    "SOMA": "Hips Spine1 Neck1 Head {Left}Shoulder {Left}Arm {Left}ForeArm {Left}Hand {Left}Leg"
    " {Left}Shin {Left}Foot {Left}ToeBase",
    "R15": "LowerTorso UpperTorso - Head - {Left}UpperArm {Left}LowerArm {Left}Hand {Left}UpperLeg"
    " {Left}LowerLeg {Left}Foot -",
    "Bip001": "Bip001_Pelvis Bip001_Spine Bip001_Neck Bip001_Head Bip001_{L}_Clavicle"
    " Bip001_{L}_UpperArm Bip001_{L}_Forearm Bip001_{L}_Hand Bip001_{L}_Thigh Bip001_{L}_Calf"
    " Bip001_{L}_Foot Bip001_{L}_Toe0",
    "Maya": "QuickRigCharacter_Hips QuickRigCharacter_Spine QuickRigCharacter_Neck"
    " QuickRigCharacter_Head QuickRigCharacter_{Left}Shoulder QuickRigCharacter_{Left}Arm"
    " QuickRigCharacter_{Left}ForeArm QuickRigCharacter_{Left}Hand QuickRigCharacter_{Left}UpLeg"
    " QuickRigCharacter_{Left}Leg QuickRigCharacter_{Left}Foot QuickRigCharacter_{Left}ToeBase",
}
# Names of fingers, as {0}, and of their joints, as {1}.
_MIXAMO = "Thumb Index Middle Ring Pinky"
FINGER_NAMES = {
    "Mixamo": ("mixamorig:{Left}Hand{0}{1}", _MIXAMO, "1234"),
    "Unreal": ("{0}_{1}_{l}", _MIXAMO.lower(), ("metacarpal", "01", "02", "03")),
    "VRoid": ("J_Bip_{L}_{0}{1}", "Thumb Index Middle Ring Little", "123"),
    "Biped": ("Bip01_{L}_Finger{0}{1}", "0 1 2 3 4", ("", "1", "2")),
    "Rigify": ("{0}.0{1}.{L}", "thumb f_index f_middle f_ring f_pinky", "123"),
    "Unity humanoid": ("{Left}{0}{1}", "Thumb Index Middle Ring Little", PHALANGES),
    "SMPL-X": ("{left}_{0}{1}", _MIXAMO.lower(), "123"),
    "Genesis 8": ("{l}{0}{1}", "Thumb Index Mid Ring Pinky", "123"),
    "Character Creator": ("CC_Base_{L}_{0}{1}", "Thumb Index Mid Ring Pinky", "123"),
    "Auto-Rig Pro": ("c_{0}{1}.{l}", _MIXAMO.lower(), "123"),
    "AdvancedSkeleton": ("{0}Finger{1}_{L}", _MIXAMO, "123"),
    "Second Life": ("mHand{0}{1}{Left}", _MIXAMO, "123"),
    "FFXIV": ("j_{0}_{1}_{l}", "oya hito naka kusu ko", "ab"),
    "MMD": ("{左}{0}{1}", "親指 人指 中指 薬指 小指", "１２３"),
    "MMD in Blender": ("{0}{1}.{L}", "親指 人指 中指 薬指 小指", "１２３"),
    "MMD in English": ("{0}{1}_{L}", "thumb fore middle third little", "123"),
}
_SIDE_FORMS = {"Left": "Right", "left": "right", "L": "R", "l": "r", "左": "右"}

# A body of 20 units in a T-pose, in MMD's axes: left is +X, it faces -Z.
_PLACES = {
    "hips": (0, 11.5, 0),
    "spine": (0, 12.4, 0.1),
    "neck": (0, 16.2, 0.2),
    "head": (0, 17.0, 0),
    "Shoulder": (0.4, 15.8, 0.2),
    "UpperArm": (1.4, 15.7, 0.2),
    "LowerArm": (3.9, 15.7, 0.3),
    "Hand": (6.1, 15.7, 0.2),
    "UpperLeg": (0.95, 11.0, 0),
    "LowerLeg": (0.95, 6.1, -0.15),
    "Foot": (0.95, 1.1, 0.3),
    "Toes": (0.95, 0.25, -1.3),
}
_FINGERS = {  # the first joint and the step to the next ones, from the wrist
    "Thumb": ((0.25, -0.2, -0.45), (0.28, -0.1, -0.3)),
    "Index": ((0.9, 0, -0.4), (0.42, 0, 0)),
    "Middle": ((0.95, 0.02, -0.12), (0.46, 0, 0)),
    "Ring": ((0.9, 0, 0.14), (0.42, 0, 0)),
    "Little": ((0.8, -0.04, 0.4), (0.34, 0, 0)),
}


def humanoid(*, spine=2, fingers=True, leg=1.0, arm=1.0, hips=1.0, arms_down=0.0):
    """A rig in Unity's names: so many spine bones, longer legs and arms, wider hips, and arms that
    hang by so many degrees."""
    names, parents, places = [], [], []

    def add(name, parent, place):
        names.append(name)
        parents.append(parent)
        places.append(np.array(place, float))
        return len(names) - 1

    lift = (leg - 1) * _PLACES["UpperLeg"][1]
    body = {part: np.add(place, (0, lift, 0)) for part, place in _PLACES.items()}
    below = root = add("Hips", -1, body["hips"])
    for i in range(spine):
        up = body["spine"] + (body["neck"] - body["spine"]) * i / spine
        below = add(f"Spine{i}", below, up)
    add("Head", add("Neck", below, body["neck"]), body["head"])
    down = np.radians(arms_down)
    turn = np.array([[np.cos(down), np.sin(down), 0], [-np.sin(down), np.cos(down), 0], [0, 0, 1]])
    for name, side in (("Left", 1), ("Right", -1)):
        mirror = np.array([side, 1, 1])
        shoulder = body["UpperArm"]

        def hang(place, shoulder=shoulder, mirror=mirror):
            return mirror * (shoulder + turn @ (arm * (place - shoulder)))

        bone = add(name + "Shoulder", below, mirror * body["Shoulder"])
        for part in ("UpperArm", "LowerArm", "Hand"):
            bone = add(name + part, bone, hang(body[part]))
        for finger, (first, step) in _FINGERS.items() if fingers else ():
            joint = bone
            for i, phalanx in enumerate(PHALANGES):
                place = body["Hand"] + first + np.multiply(step, i)
                joint = add(name + finger + phalanx, joint, hang(place))
        bone = root
        for part in ("UpperLeg", "LowerLeg", "Foot", "Toes"):
            low = np.multiply(_PLACES[part], (hips, leg if part != "Toes" else 1, 1))
            low[1] += (leg - 1) * _PLACES["Foot"][1] if part == "Toes" else 0
            bone = add(name + part, bone, mirror * low)
    rest = np.tile(np.eye(4), (len(names), 1, 1))
    rest[:, :3, 3] = places
    return Skeleton(names, parents, rest)


def variant(skeleton, scale=1.0, raised=False, rolled=False, turned=0.0):
    """The same body with other rest matrices: scaled, with horizontal arms, with bones rolled about
    any axes, facing elsewhere."""
    rest = skeleton.rest.copy()
    rest[:, :3, 3] *= scale
    for side, x in (("left", 1.0), ("right", -1.0)) if raised else ():
        arm, elbow = (skeleton.human[side + part] for part in ("UpperArm", "LowerArm"))
        along = rest[elbow, :3, 3] - rest[arm, :3, 3]
        along /= np.linalg.norm(along)
        axis = np.cross(along, (x, 0, 0))
        K = np.cross(np.eye(3), axis)
        turn = np.eye(3) + K + K @ K / (1 + along[0] * x)
        below = [arm]
        for bone, parent in enumerate(
            skeleton.parents
        ):  # parents come first in our rigs and models
            if parent in below:
                below.append(bone)
        center = rest[arm, :3, 3].copy()
        rest[below, :3, :3] = turn @ rest[below, :3, :3]
        rest[below, :3, 3] = center + (rest[below, :3, 3] - center) @ turn.T
    if rolled:
        q, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(len(rest), 3, 3)))
        rest[:, :3, :3] = rest[:, :3, :3] @ (q * np.linalg.det(q)[:, None, None])
    c, s = np.cos(np.radians(turned)), np.sin(np.radians(turned))
    rest = np.array([[c, 0, s, 0], [0, 1, 0, 0], [-s, 0, c, 0], [0, 0, 0, 1]]) @ rest
    return Skeleton(skeleton.names, skeleton.parents, rest)


def convention(name, order=None, fingers=False):
    """A Skeleton in a naming convention, and its {slot: bone}; its bones in another order."""
    names, parents, places, truth = [], [], [], {}
    words = dict(zip(_BODY, CONVENTIONS[name].split(), strict=True))

    def add(word, slot, parent, place):
        if word == "-":
            return parent
        for left, right in _SIDE_FORMS.items():
            word = word.replace("{" + left + "}", right if slot.startswith("right") else left)
        names.append(word)
        parents.append(parent)
        places.append(np.multiply(place, (-1 if slot.startswith("right") else 1, 1, 1)))
        truth[slot] = len(names) - 1
        return len(names) - 1

    def add_body(part, parent, side=""):
        return add(words[part], side + part, parent, _PLACES[part])

    hips = add_body("hips", -1)
    spine = add_body("spine", hips)
    add_body("head", add_body("neck", spine))
    for side in SIDES:
        for bone, parts in ((spine, _BODY[4:8]), (hips, _BODY[8:])):
            for part in parts:
                bone = add_body(part, bone, side)
        pattern, forms, joints = FINGER_NAMES[name] if fingers else ("", "", ())
        for finger, form in zip(FINGERS if fingers else (), forms.split(), strict=True):
            bone, slots = truth[side + "Hand"], [*PHALANGES, ""]  # the tip has no slot
            if "metacarpal" in joints:
                slots = [*(["", *PHALANGES] if finger != "Thumb" else PHALANGES)]
            first, step = _FINGERS[finger]
            for i, (slot, joint) in enumerate(zip(slots, joints[-len(slots) :], strict=False)):
                word = pattern.replace("{0}", form).replace("{1}", joint)
                place = np.add(_PLACES["Hand"], first) + np.multiply(step, i)
                bone = add(word, side + finger + slot if slot else side + "-", bone, place)
                truth.pop(side + "-", None)
    del truth["spine"]
    order = np.arange(len(names)) if order is None else order(len(names))
    place = np.argsort(order)  # of each old bone
    rest = np.tile(np.eye(4), (len(names), 1, 1))
    rest[:, :3, 3] = places
    parents = [place[parents[i]] if parents[i] >= 0 else -1 for i in order]
    skeleton = Skeleton([names[i] for i in order], parents, rest[order])
    return skeleton, {slot: place[bone] for slot, bone in truth.items()}

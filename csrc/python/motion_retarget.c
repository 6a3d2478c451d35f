/* SPDX-License-Identifier: MIT */
/* Motions for other bodies: Motion.for_model() and Motion.from_skeleton(), which are written in
   Python. */
#include "python/types.h"

PyObject *mmd_py_motion_for_model(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return mmd_py_object_forward("mmdskin.retargeting.fit", "for_model", self, args, kwargs);
}

const char mmd_py_motion_for_model_doc[] =
    "for_model($self, target, *, made_for=None, hands=True, scale=None)\n--\n\n"
    "The motion of one model, fitted to another: keys keep their frames and curves, and what they\n"
    "hold changes.\n\n"
    "target: the Model that shall dance.\n"
    "made_for: the Model that the motion was made for. None: only places are scaled, because the\n"
    "    angles of its arms at rest are not known.\n"
    "hands: whether hands that are near each other keep their gap, for which their arms get new\n"
    "    keys. Models with IK on the arms keep theirs.\n"
    "scale: of places; None: the ratio of the legs' lengths, without made_for to those of MMD's\n"
    "    own models.\n\n"
    "Rotations become q' = A_parent^-1 q A, with A the turn from the target's limb at rest to the\n"
    "source's; places t' = scale t, and those of bones that turn the body (センター, グルーブ)\n"
    "make up for pivots that differ. Bones whose rest differs and that have no keys get one. What\n"
    "bones did that the target lacks (グルーブ, 上半身2, 肩P, 腰, 全ての親, 腕捩, …), others do, "
    "with\n"
    "new keys.\n\n"
    "Returns (Motion, FitReport): `worst` is the distance of a vertex from where tracks with new\n"
    "keys should put it; `notes` name all tracks that got new keys or were lost, and \"\" what\n"
    "concerns all. Raises ValueError for models without arms, legs or a head, and for keys over\n"
    "1,000,000 frames apart. Formulas: docs/retargeting.md.";

PyObject *mmd_py_motion_from_skeleton(PyObject *type, PyObject *args, PyObject *kwargs)
{
    return mmd_py_object_forward("mmdskin.retargeting.mmd_controls", "from_skeleton", type, args,
                                 kwargs);
}

const char mmd_py_motion_from_skeleton_doc[] =
    "from_skeleton($type, model, skeleton, poses, *, fps=30.0, legs=\"both\", tolerance=0.1,\n"
    "              feet=True, hands=False, scale=None)\n--\n\n"
    "The motion of another skeleton, such as motion capture, as keys of the bones that dances of\n"
    "MMD move: センター, 下半身, 上半身, arms with 腕捩 and 手捩, fingers, 足, ひざ, 足首 and "
    "足ＩＫ.\n\n"
    "    skeleton, poses, fps = mmdskin.load_bvh(\"walk.bvh\")\n"
    "    motion, report = mmdskin.Motion.from_skeleton(model, skeleton, poses, fps=fps)\n\n"
    "model: the Model that shall move. skeleton: a Skeleton.\n"
    "poses: (F,B,4,4) world matrices of its bones, in MMD's axes and any unit, or a Pose of the\n"
    "    model whose skeleton it is.\n"
    "fps: their frames per second; other rates than MMD's 30 are resampled.\n"
    "legs: \"both\": keys of the legs and of their IK, which agree, so that IK may be on or off;\n"
    "    \"ik\": without ひざ, which MMD's IK finds again, as animators expect.\n"
    "tolerance: as for from_locals(), model units; for models whose legs are shorter than those "
    "of\n"
    "    MMD's own, 9.4 units, proportionally less.\n"
    "feet, hands, scale: as for retarget().\n\n"
    "Knees bend about their x axis only, as MMD's IK does, and thighs are turned so that knees "
    "and\n"
    "ankles are in place: MMD's IK ends where it begins. A foot that slides in the source "
    "slides.\n\n"
    "Returns (Motion, FitReport); notes of \"\" concern the whole motion. Raises ValueError for\n"
    "skeletons and models that are no human, and for poses that do not fit. Formulas:\n"
    "docs/retarget-capture.md.";

/* SPDX-License-Identifier: MIT */
/* Motions for other bodies: Motion.for_model() and Motion.from_skeleton(), which are written in
   Python. */
#include "python/types.h"

PyObject *mmd_py_motion_for_model(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return mmd_py_object_forward("mmdskin.retargeting.fit", "for_model", self, args, kwargs);
}

PyObject *mmd_py_motion_from_skeleton(PyObject *type, PyObject *args, PyObject *kwargs)
{
    return mmd_py_object_forward("mmdskin.retargeting.mmd_controls", "from_skeleton", type, args,
                                 kwargs);
}

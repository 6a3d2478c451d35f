/* SPDX-License-Identifier: MIT */
/* Defaults of records that users make. The stub has the same. */
#include "python/record_defaults.h"

#include "mmdskin.h"
#include "python/array.h"

#define ZEROS 0.0, 0.0, 0.0

PyObject *mmd_py_record_defaults_bone(void)
{
    int flags = MMD_BONE_ROTATABLE | MMD_BONE_MOVABLE | MMD_BONE_VISIBLE | MMD_BONE_OPERABLE;
    return Py_BuildValue("(s(ddd)iiii(ddd)OOOOOO)", "", ZEROS, -1, 0, flags, -1, ZEROS, Py_None,
                         Py_None, Py_None, Py_None, Py_False, Py_None);
}

PyObject *mmd_py_record_defaults_append(void)
{
    return Py_BuildValue("(dOOO)", 1.0, Py_True, Py_False, Py_False);
}

/* What most legs have. */
PyObject *mmd_py_record_defaults_ik(void)
{
    return Py_BuildValue("(id())", 40, 2.0);
}

PyObject *mmd_py_record_defaults_ik_link(void)
{
    return Py_BuildValue("(OO)", Py_None, Py_None);
}

/* Without offsets. */
PyObject *mmd_py_record_defaults_morph(void)
{
    const size_t none = 0;
    mmd_py_array indices = {0}, values = {0};
    PyObject *defaults = NULL;
    if (mmd_py_array_new(MMD_PY_INT32, 1, &none, &indices) &&
        mmd_py_array_new(MMD_PY_FLOAT32, 1, &none, &values))
        defaults = Py_BuildValue("(sisOO)", "", 4, "vertex", indices.object, values.object);
    mmd_py_array_clear(&indices);
    mmd_py_array_clear(&values);
    return defaults;
}

/* An index_count of -1 stands for all that are left. */
PyObject *mmd_py_record_defaults_material(void)
{
    int flags = MMD_MATERIAL_GROUND_SHADOW | MMD_MATERIAL_CASTS_SELF_SHADOW |
                MMD_MATERIAL_RECEIVES_SELF_SHADOW;
    return Py_BuildValue("(s(dddd)(ddd)d(ddd)i(dddd)diisiOsi)", "", 1.0, 1.0, 1.0, 1.0, ZEROS, 5.0,
                         0.5, 0.5, 0.5, flags, ZEROS, 1.0, 1.0, -1, -1, "none", -1, Py_False, "",
                         -1);
}

PyObject *mmd_py_record_defaults_display_frame(void)
{
    return Py_BuildValue("(sO())", "", Py_False);
}

PyObject *mmd_py_record_defaults_rigid_body(void)
{
    return Py_BuildValue("(siiis(ddd)(ddd)(ddd)ddddds)", "", -1, 0, 0xFFFF, "sphere", 1.0, 1.0, 1.0,
                         ZEROS, ZEROS, 1.0, 0.5, 0.5, 0.0, 0.5, "follow_bone");
}

PyObject *mmd_py_record_defaults_joint(void)
{
    return Py_BuildValue("(ssii(ddd)(ddd)(ddd)(ddd)(ddd)(ddd)(ddd)(ddd))", "", "spring_6dof", -1,
                         -1, ZEROS, ZEROS, ZEROS, ZEROS, ZEROS, ZEROS, ZEROS, ZEROS);
}

/* `physics` and `stored` were added later. */
PyObject *mmd_py_record_defaults_bone_track(void)
{
    return PyTuple_Pack(2, Py_None, Py_None);
}

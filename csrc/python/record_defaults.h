/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_RECORD_DEFAULTS_H
#define MMD_PY_RECORD_DEFAULTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* New tuples of the defaults of a record's last fields. */
PyObject *mmd_py_record_defaults_bone(void);
PyObject *mmd_py_record_defaults_append(void);
PyObject *mmd_py_record_defaults_ik(void);
PyObject *mmd_py_record_defaults_ik_link(void);
PyObject *mmd_py_record_defaults_morph(void);
PyObject *mmd_py_record_defaults_material(void);
PyObject *mmd_py_record_defaults_display_frame(void);
PyObject *mmd_py_record_defaults_rigid_body(void);
PyObject *mmd_py_record_defaults_joint(void);
PyObject *mmd_py_record_defaults_bone_track(void);

#endif

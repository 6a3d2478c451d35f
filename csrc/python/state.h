/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_STATE_H
#define MMD_PY_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "mmdskin.h"
#include "python/posers.h"
#include "python/variants.h"

/* The records, in the order of their classes in the state: name and field names. */
typedef enum mmd_record {
    MMD_RECORD_SKINNED,
    MMD_RECORD_POSE,
    MMD_RECORD_BACKEND,
    MMD_RECORD_RENDERED,
    MMD_RECORD_CAMERA,
    MMD_RECORD_PHYSICS,
    MMD_RECORD_BONE,
    MMD_RECORD_APPEND,
    MMD_RECORD_IK,
    MMD_RECORD_IK_LINK,
    MMD_RECORD_MORPH,
    MMD_RECORD_MATERIAL,
    MMD_RECORD_DISPLAY_FRAME,
    MMD_RECORD_RIGID_BODY,
    MMD_RECORD_JOINT,
    MMD_RECORD_BONE_TRACK,
    MMD_RECORD_MORPH_TRACK,
    MMD_RECORD_CAMERA_TRACK,
    MMD_RECORD_LIGHT_TRACK,
    MMD_RECORD_SHADOW_TRACK,
    MMD_RECORD_PROPERTY_TRACK,
    MMD_RECORD_UNMATCHED,
    MMD_RECORD_COUNT
} mmd_record;

/* What a model has names for. */
typedef enum mmd_named { MMD_NAMED_BONES, MMD_NAMED_MORPHS, MMD_NAMED_COUNT } mmd_named;

/* What backend="auto" has come to. */
typedef enum mmd_choice { MMD_CHOICE_OPEN, MMD_CHOICE_GL, MMD_CHOICE_CPU } mmd_choice;

typedef struct mmd_state {
    PyTypeObject *model_type, *mesh_type, *motion_type, *world_type, *simulation_type;
    PyObject *format_error, *backend_error;
    PyObject *records[MMD_RECORD_COUNT];
    mmd_choice choice;
    mmd_error gl_failure; /* why "auto" has left OpenGL, if it has */
} mmd_state;

/* Objects of this module's types (no subclasses exist) and the module itself. */
mmd_state *mmd_state_of(PyObject *object);
mmd_state *mmd_state_of_module(PyObject *module);

/* FormatError and BackendError. */
bool mmd_errors_add(PyObject *module, mmd_state *state);

/* Sets the exception that `err` stands for. Returns NULL. */
PyObject *mmd_raise(mmd_state *state, const mmd_error *err);

/* Drivers and loaders use any encoding, and a long text may end inside a character. */
PyObject *mmd_loose_text(const char *text);

/* The classes of the records: `collections.namedtuple`. */
bool mmd_records_add(PyObject *module, mmd_state *state);

extern PyType_Spec mmd_model_spec, mmd_mesh_spec, mmd_motion_spec, mmd_world_spec;
extern PyType_Spec mmd_simulation_spec;

/* The mesh of a Model or a Mesh with its variants, borrowed; NULL with an exception for whatever
   else. The second is of a Mesh, in mesh_type.c. */
mmd_variants *mmd_mesh_take(mmd_state *state, PyObject *argument);
mmd_variants *mmd_mesh_variants(PyObject *mesh);
/* (V,3), a view that keeps the Model or Mesh; made at first use. */
PyObject *mmd_centers_of_rotation(PyObject *self, mmd_variants *variants);

/* What a Model and a Motion hold, borrowed. */
const mmd_model *mmd_model_data(PyObject *model);
const mmd_rig *mmd_model_rig(PyObject *model);
mmd_ring *mmd_model_posers(PyObject *model);
/* Where a model keeps {name: index} once it is made. */
PyObject **mmd_model_numbers(PyObject *model, mmd_named kind);
const mmd_motion *mmd_motion_data(PyObject *motion);
mmd_ring *mmd_motion_posers(PyObject *motion);

/* The whole contents of a path or of a bytes-like object, as bytes. */
PyObject *mmd_read_source(PyObject *source);

/* Writes bytes to a path, or to an object with a write method. */
bool mmd_write_target(PyObject *target, PyObject *bytes);

/* A zeroed object of a heap type of ours; frees one whose own references are gone. */
PyObject *mmd_object_new(PyTypeObject *type);
void mmd_object_free(PyObject *self);

/* Methods of the module. */
PyObject *mmd_py_load_model(PyObject *module, PyObject *source);
PyObject *mmd_py_load_motion(PyObject *module, PyObject *source);
PyObject *mmd_py_skin(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_render(PyObject *module, PyObject *args, PyObject *kwargs);

/* A method of Motion, in camera.c. */
PyObject *mmd_py_camera_at(PyObject *motion, PyObject *frames);

/* Methods of Model, in names.c and named_values.c. */
PyObject *mmd_py_bone(PyObject *model, PyObject *name);
PyObject *mmd_py_morph(PyObject *model, PyObject *name);
PyObject *mmd_py_sliders(PyObject *model, PyObject *weights);

/* Methods of Model, in pose.c. */
PyObject *mmd_py_pose(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_pose_from(PyObject *model, PyObject *args, PyObject *kwargs);

/* Methods of Model, in morphs.c. */
PyObject *mmd_py_uvs_at(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_materials_at(PyObject *model, PyObject *weights);

extern const char mmd_load_model_doc[], mmd_load_motion_doc[], mmd_skin_doc[], mmd_centers_doc[];
extern const char mmd_bone_doc[], mmd_morph_doc[], mmd_sliders_doc[];
extern const char mmd_render_doc[], mmd_camera_at_doc[];
extern const char mmd_pose_doc[], mmd_pose_from_doc[], mmd_uvs_at_doc[], mmd_materials_at_doc[];

#endif

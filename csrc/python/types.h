/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_TYPES_H
#define MMD_PY_TYPES_H

#include "mmdskin.h"
#include "python/array.h"
#include "python/mesh_cache.h"
#include "python/model_names.h"
#include "python/poser_cache.h"
#include "python/state.h"

/* What the Python types and functions use of each other. Each has a file, model_type.c for Model
   and so on; long methods are in files of their own, model_pose.c or motion_tracks.c. */

extern PyType_Spec mmd_py_model_spec, mmd_py_mesh_spec, mmd_py_motion_spec, mmd_py_world_spec;
extern PyType_Spec mmd_py_simulation_spec;

/* Allocates a zeroed object of one of these types; frees one whose references are cleared. */
PyObject *mmd_py_object_new(PyTypeObject *type);
void mmd_py_object_free(PyObject *self);

/* Calls a function of one of the package's modules in Python, with a tuple that the format makes:
   "(Os)". */
PyObject *mmd_py_object_call(const char *module, const char *function, const char *format, ...);
/* A method that is written in Python: calls such a function with `self` and all arguments. */
PyObject *mmd_py_object_forward(const char *module, const char *function, PyObject *self,
                                PyObject *args, PyObject *kwargs);
#define MMD_PY_FILE_IO "mmdskin.file_io"
#define MMD_PY_NOTEBOOK "mmdskin.notebook"

/* Model */

/* The function load_model() of the module. */
PyObject *mmd_py_model_load(PyObject *module, PyObject *source);

/* Wraps a model, which it owns from then on, also on failure. */
PyObject *mmd_py_model_new(mmd_py_state *state, mmd_model *model);

PyObject *mmd_py_model_from_arrays(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_model_replace(PyObject *model, PyObject *args, PyObject *kwargs);

/* Whether an argument is a Model; false with a TypeError. */
bool mmd_py_model_check(mmd_py_state *state, PyObject *model);

/* The members of a Model, borrowed. */
const mmd_model *mmd_py_model_data(PyObject *model);
const mmd_rig *mmd_py_model_rig(PyObject *model);
mmd_py_mesh_cache *mmd_py_model_mesh_cache(PyObject *model);
mmd_py_poser_list *mmd_py_model_poser_list(PyObject *model);
/* Gives a new Model the path of another one. */
void mmd_py_model_copy_path(PyObject *model, PyObject *to);
/* The name index, whose items are NULL until first use, and the arena that it is in. */
mmd_py_model_name_index *mmd_py_model_get_name_index(PyObject *model, mmd_py_model_name_kind kind,
                                                     mmd_arena **arena);

PyObject *mmd_py_model_bone(PyObject *model, PyObject *name);
PyObject *mmd_py_model_morph(PyObject *model, PyObject *name);
PyObject *mmd_py_model_sliders(PyObject *model, PyObject *weights);
/* Runs a checked pose job that has its outputs; `motion` may be None. False with an exception. */
bool mmd_py_model_run_pose(PyObject *model, PyObject *motion, const mmd_pose_job *job,
                           PyObject *threads);
PyObject *mmd_py_model_pose(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_model_pose_from(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_model_uvs_at(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_model_materials_at(PyObject *model, PyObject *weights);
PyObject *mmd_py_model_texture_factors_at(PyObject *model, PyObject *weights);

extern const char mmd_py_model_load_doc[], mmd_py_motion_load_doc[];
extern const char mmd_py_model_from_arrays_doc[], mmd_py_model_replace_doc[];
extern const char mmd_py_model_bone_doc[], mmd_py_model_morph_doc[], mmd_py_model_sliders_doc[];
extern const char mmd_py_model_pose_doc[], mmd_py_model_pose_from_doc[];
extern const char mmd_py_model_uvs_at_doc[], mmd_py_model_materials_at_doc[];
extern const char mmd_py_model_texture_factors_at_doc[];

/* Motion */

/* The function load_motion() of the module. */
PyObject *mmd_py_motion_load(PyObject *module, PyObject *args, PyObject *kwargs);

/* Whether an argument is a Motion or None; false with a TypeError. */
bool mmd_py_motion_check(mmd_py_state *state, PyObject *motion);

/* Warns if a model has none of a Motion's names, but would in another encoding. False with an
   exception. The motion may be None. */
bool mmd_py_motion_check_names(PyObject *motion, PyObject *model);

/* The members of a Motion, borrowed. */
const mmd_motion *mmd_py_motion_data(PyObject *motion);
mmd_py_poser_list *mmd_py_motion_poser_list(PyObject *motion);

/* Wraps a motion, which it owns from then on, also on failure. `bytes` of the file, or NULL. */
PyObject *mmd_py_motion_new(mmd_py_state *state, mmd_motion *motion, PyObject *bytes);

PyObject *mmd_py_motion_from_tracks(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_motion_from_poses(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_motion_from_locals(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_motion_from_camera(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_motion_camera_at(PyObject *motion, PyObject *frames);
PyObject *mmd_py_motion_light_at(PyObject *motion, PyObject *frames);
PyObject *mmd_py_motion_shadow_at(PyObject *motion, PyObject *frames);
PyObject *mmd_py_motion_save(PyObject *motion, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_motion_for_model(PyObject *motion, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_motion_from_skeleton(PyObject *type, PyObject *args, PyObject *kwargs);

extern const char mmd_py_motion_from_tracks_doc[], mmd_py_motion_from_poses_doc[];
extern const char mmd_py_motion_from_locals_doc[], mmd_py_motion_from_camera_doc[];
extern const char mmd_py_motion_camera_at_doc[];
extern const char mmd_py_motion_light_at_doc[], mmd_py_motion_shadow_at_doc[];
extern const char mmd_py_motion_save_doc[];
extern const char mmd_py_motion_for_model_doc[], mmd_py_motion_from_skeleton_doc[];

/* Simulation */

/* Model.pose() with physics: the Pose of frames, by a temporary simulation. */
PyObject *mmd_py_simulation_run(PyObject *model, PyObject *motion, bool ik,
                                const mmd_simulation_settings *physics, const mmd_py_array *frames);

/* Mesh */

mmd_py_mesh_cache *mmd_py_mesh_get_cache(PyObject *mesh);

/* The mesh cache of an argument, a Model or a Mesh, borrowed; NULL with a TypeError. */
mmd_py_mesh_cache *mmd_py_mesh_cache_from_argument(mmd_py_state *state, PyObject *argument);

/* Functions of the module. */
PyObject *mmd_py_module_skin(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_module_render(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_module_toons(PyObject *module, PyObject *unused);

extern const char mmd_py_module_skin_doc[], mmd_py_module_render_doc[], mmd_py_module_toons_doc[];

#endif

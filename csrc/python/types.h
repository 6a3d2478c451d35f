/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_TYPES_H
#define MMD_PY_TYPES_H

#include "core/base/arena.h"
#include "core/model/motion.h"
#include "mmdskin.h"
#include "python/array.h"
#include "python/state.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <structmember.h>

/* What the Python types and functions use of each other. Each has a file, model_type.c for Model
   and so on; long methods are in files of their own, model_pose.c or motion_tracks.c. */

/* What all objects begin with. Those of types with these members may be referred to weakly. */
typedef struct mmd_py_object {
    PyObject_HEAD
    PyObject *weak_references;
} mmd_py_object;

extern PyMemberDef mmd_py_object_members[];

/* Protects a C object that a Python object wraps, also while the GIL is released. All functions
   need the GIL. Initialize to zero, then call init; free accepts zero. */
typedef struct mmd_py_object_lock {
    PyThread_type_lock lock;
    const char *what;     /* it protects, in errors */
    unsigned long holder; /* thread that holds it, 0: none */
    unsigned forks;       /* of the process, when the holder locked it */
} mmd_py_object_lock;

/* False with an exception. */
bool mmd_py_object_lock_init(mmd_py_object_lock *lock, const char *what);
void mmd_py_object_lock_free(mmd_py_object_lock *lock);

/* Waits with the GIL released, since the holder may need it. A thread that already holds the lock
   would wait for itself: it gets a RuntimeError. This happens in a signal handler that runs during
   a call. So does every thread of a forked process if another thread held the lock at the fork: the
   object may be in the middle of a change, which nobody will finish. The lock, or NULL with an
   exception. */
void *mmd_py_object_lock_acquire(mmd_py_object_lock *lock);
void mmd_py_object_lock_release(mmd_py_object_lock **lock);

/* For a variable with what acquire returns: it holds the lock to the end of its block, or until its
   release before a call of Python code, which may use the object. */
#define MMD_PY_HELD MMD_PY_CLEARED_BY(mmd_py_object_lock_release) mmd_py_object_lock

/* MMD_METHOD_BULGE_FREE and the methods after it, each of which needs a mesh variant. */
enum { MMD_PY_MESH_VARIANT_COUNT = 3 };

/* A mesh and its variants, each created at first use. Initialize to zero, then set `extras`, and
   either `model` or `base`. */
typedef struct mmd_py_mesh_cache {
    mmd_mesh_extras extras; /* checked */
    const mmd_model *model; /* the source of `base`; NULL when `base` is set by the owner */
    _Atomic(mmd_mesh *) base;
    _Atomic(mmd_mesh *) variants[MMD_PY_MESH_VARIANT_COUNT];
    _Atomic(mmd_mesh *) with_tangents[1 + MMD_PY_MESH_VARIANT_COUNT]; /* base, then variants */
} mmd_py_mesh_cache;

/* The base mesh. Needs no GIL: threads that race for the first use may each create a mesh; one of
   them is kept. */
const mmd_mesh *mmd_py_mesh_cache_base(mmd_py_mesh_cache *cache, mmd_error *err);

/* The mesh that a method skins (the base mesh where that is enough), with tangents if requested.
   Called with the GIL, which it releases while it works; signal handlers can interrupt it. */
const mmd_mesh *mmd_py_mesh_cache_get(mmd_py_mesh_cache *cache, mmd_method method, bool tangents,
                                      mmd_error *err);
/* The property centers_of_rotation of Model and Mesh: a view that keeps `self` alive. */
PyObject *mmd_py_mesh_cache_centers(PyObject *self, mmd_py_mesh_cache *cache);

void mmd_py_mesh_cache_free(mmd_py_mesh_cache *cache);

/* Posers kept for later calls with the same model and motion: binding the two and allocating memory
   costs as much as posing a frame. A call acquires a poser and releases it afterwards, so no two
   threads share one. A cached poser is linked into a list of its model and a list of its motion; it
   is freed with either. Each model caches a few posers and evicts the least recently used. All
   functions need the GIL, which serves as the lock. Cached posers hold no reference to a Python
   object. */

/* A node or the head of a circular doubly linked list. */
typedef struct mmd_py_poser_list {
    struct mmd_py_poser_list *next, *previous;
} mmd_py_poser_list;

void mmd_py_poser_list_init(mmd_py_poser_list *list);

/* A model and a motion with their lists; both motion members are NULL for poses by local values. */
typedef struct mmd_py_poser_key {
    const mmd_rig *rig;
    const mmd_motion *motion;
    mmd_py_poser_list *model_list, *motion_list;
} mmd_py_poser_key;

typedef struct mmd_py_poser_cached {
    mmd_py_poser_list model_node, motion_node;
    mmd_poser *poser; /* NULL: new; the caller creates it, without the GIL */
    const mmd_motion *motion;
} mmd_py_poser_cached;

/* NULL when out of memory. */
mmd_py_poser_cached *mmd_py_poser_cache_acquire(const mmd_py_poser_key *key, mmd_error *err);
void mmd_py_poser_cache_release(const mmd_py_poser_key *key, mmd_py_poser_cached *cached);

/* Frees every poser of a model, or of a motion. */
void mmd_py_poser_cache_clear_model(mmd_py_poser_list *list);
void mmd_py_poser_cache_clear_motion(mmd_py_poser_list *list);

/* What of a model is looked up by name. */
typedef enum mmd_py_model_name_kind {
    MMD_PY_BONE_NAMES,
    MMD_PY_MORPH_NAMES,
    MMD_PY_MODEL_NAME_KIND_COUNT
} mmd_py_model_name_kind;

/* Parses a dict {name: (translation, rotation)} to local values (F,B,3) and (F,B,4). Bones that it
   does not name are at rest. Sets `batched` if any value has a frame axis. */
bool mmd_py_model_names_parse_bones(PyObject *model, PyObject *dict, mmd_py_array *translations,
                                    mmd_py_array *rotations, size_t *frames, bool *batched);

extern PyType_Spec mmd_py_model_spec, mmd_py_mesh_spec, mmd_py_motion_spec, mmd_py_world_spec;
extern PyType_Spec mmd_py_simulation_spec, mmd_py_fit_spec;

/* Allocates a zeroed object of one of these types; frees one whose references are cleared. */
PyObject *mmd_py_object_new(PyTypeObject *type);
void mmd_py_object_free(PyObject *self);

/* Calls a function of one of the package's modules in Python, with a tuple that the format makes:
   "(Os)". */
PyObject *mmd_py_object_call(const char *module, const char *function, const char *format, ...);
/* A method that is written in Python: calls such a function with `self` and all arguments. */
PyObject *mmd_py_object_forward(const char *module, const char *function, PyObject *self,
                                PyObject *args, PyObject *kwargs);
#define MMD_PY_FORWARD(method, module, function)                                                   \
    static PyObject *method(PyObject *self, PyObject *args, PyObject *kwargs)                      \
    {                                                                                              \
        return mmd_py_object_forward(module, function, self, args, kwargs);                        \
    }
#define MMD_PY_FILE_IO "mmdskin.file_io"
#define MMD_PY_NOTEBOOK "mmdskin.notebook"
#define MMD_PY_ERRORS "mmdskin.errors"
#define MMD_PY_PHYSICS_ARGUMENTS "mmdskin.physics_arguments"

/* Model */

/* What a Model is made of, in the order of the keywords of Model.from_arrays(): arrays by dtype,
   rank and lengths after the first; records with their number; texts. */
#define MMD_PY_MODEL_MEMBERS(ARRAY, RECORDS, TEXT)                                                 \
    ARRAY(positions, FLOAT32, 2, 3, 0)                                                             \
    ARRAY(triangles, INT32, 2, 3, 0)                                                               \
    ARRAY(normals, FLOAT32, 2, 3, 0)                                                               \
    ARRAY(uvs, FLOAT32, 2, 2, 0)                                                                   \
    ARRAY(additional_uvs, FLOAT32, 3, 0, 4)                                                        \
    ARRAY(edge_scales, FLOAT32, 1, 0, 0)                                                           \
    ARRAY(deform, UINT8, 1, 0, 0)                                                                  \
    ARRAY(bone_indices, INT32, 2, 4, 0)                                                            \
    ARRAY(bone_weights, FLOAT32, 2, 4, 0)                                                          \
    ARRAY(sdef, FLOAT32, 3, 3, 3)                                                                  \
    RECORDS(bones, bone_count, BONE)                                                               \
    RECORDS(morphs, morph_count, MORPH)                                                            \
    RECORDS(materials, material_count, MATERIAL)                                                   \
    RECORDS(textures, texture_count, TEXT)                                                         \
    RECORDS(display_frames, display_frame_count, DISPLAY_FRAME)                                    \
    RECORDS(rigid_bodies, rigid_body_count, RIGID_BODY)                                            \
    RECORDS(joints, joint_count, JOINT)                                                            \
    TEXT(name)                                                                                     \
    TEXT(name_english)                                                                             \
    TEXT(comment)                                                                                  \
    TEXT(comment_english)

/* MMD_PY_MODEL_positions and so on. */
#define MMD_PY_MODEL_INDEX(name, ...) MMD_PY_MODEL_##name,
typedef enum mmd_py_model_index {
    MMD_PY_MODEL_MEMBERS(MMD_PY_MODEL_INDEX, MMD_PY_MODEL_INDEX, MMD_PY_MODEL_INDEX)
        MMD_PY_MODEL_MEMBER_COUNT
} mmd_py_model_index;

typedef struct mmd_py_model_member {
    char *name;
    size_t offset, count_offset; /* in mmd_model: of it, and of the number of records */
    mmd_py_record_kind kind;     /* of records */
    mmd_py_array_dtype dtype;
    int rank;
    size_t columns[2]; /* 0: the number of additional UVs */
} mmd_py_model_member;

extern const mmd_py_model_member mmd_py_model_members[MMD_PY_MODEL_MEMBER_COUNT];

/* The function load_model() of the module. */
PyObject *mmd_py_model_load(PyObject *module, PyObject *source);

/* Wraps a model, which it owns from then on, also on failure. `bytes` of the file, or NULL. */
PyObject *mmd_py_model_new(mmd_py_state *state, mmd_model *model, PyObject *bytes);

PyObject *mmd_py_model_from_arrays(PyObject *type, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_model_replace(PyObject *model, PyObject *args, PyObject *kwargs);

enum { MMD_PY_MODEL_TUPLES = MMD_PY_MODEL_name - MMD_PY_MODEL_bones };

/* `owner` is a capsule that frees the C model. It is the base of every view, so views keep the data
   alive, not the Model. (The Model caches records that contain views; as numpy arrays do not
   support garbage collection, a reference back to the Model would never be freed.) */
typedef struct mmd_py_model {
    mmd_py_object base;
    PyObject *owner;
    PyObject *bytes;    /* of the file; NULL until file_bytes() if there is none */
    PyObject *path;     /* of the file, str or None; NULL: None */
    bool saved_as_read; /* save() is known to write these bytes */
    PyObject *tuples[MMD_PY_MODEL_TUPLES];                /* cached tuples of records */
    PyObject *name_indices[MMD_PY_MODEL_NAME_KIND_COUNT]; /* dicts by name; NULL until first use */
    const mmd_model *model;
    mmd_rig *rig;
    mmd_py_poser_list posers;
    mmd_arena extras_arena; /* segments and parents for the mesh variants */
    mmd_py_mesh_cache mesh_cache;
} mmd_py_model;

static inline mmd_py_model *mmd_py_model_of(PyObject *model)
{
    return (mmd_py_model *)model;
}

PyObject *mmd_py_model_bone(PyObject *model, PyObject *name);
PyObject *mmd_py_model_morph(PyObject *model, PyObject *name);
PyObject *mmd_py_model_sliders(PyObject *model, PyObject *weights);
/* Runs a checked pose job that has its outputs; `motion` may be None. False with an exception. */
bool mmd_py_model_run_pose(PyObject *model, PyObject *motion, const mmd_pose_job *job,
                           PyObject *threads);
PyObject *mmd_py_model_pose(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_model_pose_from(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_model_joint_positions(PyObject *model, PyObject *pose);
PyObject *mmd_py_model_transforms(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_model_skinning_matrices(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_model_uvs_at(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_model_materials_at(PyObject *model, PyObject *weights);
PyObject *mmd_py_model_texture_factors_at(PyObject *model, PyObject *weights);

/* Motion */

/* The names of tracks that a file does not hold, a list of (path, name, why); leaves out those that
   do nothing. NULL with an exception. */
PyObject *mmd_py_motion_name_faults(mmd_arena *arena, size_t capacity, mmd_motion *tracks);
/* The function _motion_bytes(motion, part, is_vpd, cut, omit, frame, model) of the module. */
PyObject *mmd_py_motion_bytes(PyObject *module, PyObject *args);
/* The function _motion_of_bytes(bytes, encoding) of the module. */
PyObject *mmd_py_motion_of_bytes(PyObject *module, PyObject *args);

/* Warns if a model has none of a Motion's names, but would in another encoding. False with an
   exception. The motion may be None. */
bool mmd_py_motion_check_names(PyObject *motion, PyObject *model);

/* `owner` is a capsule that frees the C motion, the base of every view; as of a Model. */
typedef struct mmd_py_motion {
    mmd_py_object base;
    PyObject *owner;
    PyObject *bytes;                     /* of the file, for pickling; NULL: created from tracks */
    PyObject *encoding;                  /* of its names, a str; NULL: cp932 */
    PyObject *tuples[MMD_MOTION_CAMERA]; /* cached tuples of records: of the kinds before it */
    const mmd_motion *motion;
    bool is_known; /* some model has had a bone or morph of the motion */
    mmd_py_poser_list posers;
} mmd_py_motion;

static inline mmd_py_motion *mmd_py_motion_of(PyObject *motion)
{
    return (mmd_py_motion *)motion;
}

/* Wraps a motion, which it owns from then on, also on failure. `bytes` of the file, or NULL. */
PyObject *mmd_py_motion_new(mmd_py_state *state, mmd_motion *motion, PyObject *bytes);

PyObject *mmd_py_motion_from_tracks(PyObject *type, PyObject *args, PyObject *kwargs);
/* The function _samples(motion, track, frames) of the module: (n,) or (F,n) float32. */
PyObject *mmd_py_motion_samples(PyObject *module, PyObject *args);

/* The bytes of names in cp932, with "?" for what it lacks, for pose_file.py. */
PyObject *mmd_py_motion_cp932(PyObject *module, PyObject *names);

/* The functions _fit_motion(model, translations, rotations, weights, matrices, losses, ...) and
   _fit_camera(rows, cuts, first, tolerance, radians) of the module: iterators of the share that is
   done, whose StopIteration has the result. The package's class Fit shows them to users. */
PyObject *mmd_py_fit_motion(PyObject *module, PyObject *args);
PyObject *mmd_py_fit_camera(PyObject *module, PyObject *args);

/* Simulation */

/* Model.pose() with physics: the Pose of frames, by a temporary simulation. */
PyObject *mmd_py_simulation_run(PyObject *model, PyObject *motion, bool ik,
                                const mmd_simulation_settings *physics, const mmd_py_array *frames);

/* Mesh */

/* The mesh cache of an argument, a Model or a Mesh, borrowed; NULL with a TypeError. */
mmd_py_mesh_cache *mmd_py_mesh_cache_from_argument(mmd_py_state *state, PyObject *argument);

/* Functions of the module. */
PyObject *mmd_py_module_skin(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_module_render(PyObject *module, PyObject *args);

#endif

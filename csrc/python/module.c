/* SPDX-License-Identifier: MIT */
/* The native module mmdskin._mmdskin, as Python would write it; the package exports its names:

    class Model                                       # model_type.c, model_*.c
    class Motion                                      # motion_type.c, motion_*.c
    class Mesh, World, Simulation                     # mesh_type.c, world_type.c, ...
    def _local_values(model, translations, ...): ...  # pose_io.c
    def _locals_of(model, pose, ...): ...             # model_locals.c
    def _fit_motion(model, translations, ...): ...    # fit_type.c
    def _fit_camera(rows, cuts, ...): ...             # fit_type.c
    def _samples(motion, track, frames): ...          # motion_samples.c
    Bone, ..., Skinned, Pose, Backend, Physics        # mmdskin/records.py
    def load_model(source): ...                       # model_type.c
    def load_motion(source, encoding=None, *, model=None): ... # motion_encoding.py
    def skin(mesh, bone_matrices, ...): ...           # module_skin.c
    def _render(mesh, skinned, ...): ...              # module_render.c
    def _cp932(names): ...                            # motion_save.c
    def _motion_bytes(motion, part, ...): ...         # motion_save.c
    def _motion_of_bytes(bytes, encoding): ...        # motion_type.c
    def _at_exit(): ...
    def backends(): ...
    def shutdown(): ...
    __version__
*/
#include "core/skin/skin.h"
#include "gl/gl.h"
#include "gl/gl_thread.h"
#include "python/array.h"
#include "python/batch.h"
#include "python/exceptions.h"
#include "python/members.h"
#include "python/owned.h"
#include "python/pose_io.h"
#include "python/record.h"
#include "python/types.h"

mmd_py_state *mmd_py_state_of_module(PyObject *module)
{
    return PyModule_GetState(module);
}

mmd_py_state *mmd_py_state_of(PyObject *object)
{
    return PyType_GetModuleState(Py_TYPE(object));
}

static PyObject *backends(PyObject *module, PyObject *unused)
{
    mmd_py_state *state = mmd_py_state_of_module(module);
    mmd_gl_device device;
    bool available;
    mmd_error err = {0};
    mmd_gl_caller caller;
    if (!mmd_py_batch_gl_caller(1, &caller))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    available = mmd_gl_skin_device(&caller, &device, &err);
    Py_END_ALLOW_THREADS
    if (!available && err.code == MMD_E_INTERRUPTED)
        return NULL;
    PyObject *type = state->records[MMD_PY_RECORD_BACKEND];
    MMD_PY_OWNED PyObject *text = mmd_py_exceptions_str(available ? device.name : err.text);
    MMD_PY_OWNED PyObject *gl =
        text ? PyObject_CallFunction(type, "sNOO", "gl", PyBool_FromLong(available),
                                     available ? text : Py_None, available ? Py_None : text)
             : NULL;
    MMD_PY_OWNED PyObject *cpu = gl ? PyObject_CallFunction(type, "sOsO", "cpu", Py_True,
                                                            mmd_skin_kernel_best()->name, Py_None)
                                    : NULL;
    return cpu ? PyTuple_Pack(2, gl, cpu) : NULL;
}

static PyObject *shutdown(PyObject *module, PyObject *unused)
{
    Py_BEGIN_ALLOW_THREADS
    mmd_gl_thread_shutdown(false);
    Py_END_ALLOW_THREADS
    mmd_py_array_pool_empty();
    Py_RETURN_NONE;
}

static bool is_main_interpreter(void)
{
    return PyInterpreterState_GetID(PyInterpreterState_Get()) == 0;
}

/* Daemon threads may still call us after this. When the main interpreter ends, so does the program,
   and OpenGL must not start again. */
static PyObject *at_exit(PyObject *module, PyObject *unused)
{
    bool at_program_end = is_main_interpreter();
    Py_BEGIN_ALLOW_THREADS
    mmd_gl_thread_shutdown(at_program_end);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

MMD_PY_FORWARD(load_motion, "mmdskin.motion_encoding", "load_motion")

/* clang-format off */
#define FUNCTION(name, function, flags) \
    {#name, (PyCFunction)(void (*)(void))function, flags, MMD_DOC_##name}
/* clang-format on */

static PyMethodDef methods[] = {
    FUNCTION(load_model, mmd_py_model_load, METH_O),
    FUNCTION(load_motion, load_motion, MMD_PY_KEYWORDS),
    FUNCTION(skin, mmd_py_module_skin, MMD_PY_KEYWORDS),
    {"_local_values", mmd_py_pose_input_values, METH_VARARGS, "For fitting.py."},
    {"_locals_of", mmd_py_model_locals_and_losses, METH_VARARGS, "For fitting.py."},
    {"_fit_motion", mmd_py_fit_motion, METH_VARARGS, "For fitting.py."},
    {"_fit_camera", mmd_py_fit_camera, METH_VARARGS, "For fitting.py."},
    {"_samples", mmd_py_motion_samples, METH_VARARGS, "For motion_methods.py."},
    {"_render", mmd_py_module_render, METH_VARARGS, "For render() of the package."},
    {"_cp932", mmd_py_motion_cp932, METH_O, "For pose_file.py."},
    {"_motion_bytes", mmd_py_motion_bytes, METH_VARARGS, "For motion_file.py."},
    {"_motion_of_bytes", mmd_py_motion_of_bytes, METH_VARARGS, "For motion_encoding.py."},
    {"_at_exit", at_exit, METH_NOARGS, "For atexit."},
    FUNCTION(backends, backends, METH_NOARGS),
    FUNCTION(shutdown, shutdown, METH_NOARGS),
    {0}};

static int module_exec(PyObject *module)
{
    static PyType_Spec *const specs[MMD_PY_TYPE_COUNT] = {
        [MMD_PY_MODEL] = &mmd_py_model_spec,           [MMD_PY_MESH] = &mmd_py_mesh_spec,
        [MMD_PY_MOTION] = &mmd_py_motion_spec,         [MMD_PY_WORLD] = &mmd_py_world_spec,
        [MMD_PY_SIMULATION] = &mmd_py_simulation_spec, [MMD_PY_FIT] = &mmd_py_fit_spec};
    mmd_py_state *state = mmd_py_state_of_module(module);
    if (mmd_py_array_init() < 0 || !mmd_py_record_add_classes(module, state))
        return -1;
    if (is_main_interpreter())
        mmd_gl_thread_resume();
    for (int i = 0; i < MMD_PY_TYPE_COUNT; i++) {
        PyObject *type = PyType_FromModuleAndSpec(module, specs[i], NULL);
        state->types[i] = (PyTypeObject *)type;
        if (!type || (i != MMD_PY_FIT && PyModule_AddType(module, state->types[i]) < 0))
            return -1;
    }
    /* Handlers run in reverse order: this one after those of the package and of its users. */
    MMD_PY_OWNED PyObject *hook =
        mmd_py_object_call("atexit", "register", "(N)", PyObject_GetAttrString(module, "_at_exit"));
    return hook ? PyModule_AddStringConstant(module, "__version__", mmd_version()) : -1;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    mmd_py_state *state = mmd_py_state_of_module(module);
    for (int i = 0; i < MMD_PY_TYPE_COUNT; i++)
        Py_VISIT(state->types[i]);
    for (int i = 0; i < MMD_PY_RECORD_COUNT; i++)
        Py_VISIT(state->records[i]);
    Py_VISIT(state->named);
    return 0;
}

static int module_clear(PyObject *module)
{
    mmd_py_state *state = mmd_py_state_of_module(module);
    for (int i = 0; i < MMD_PY_TYPE_COUNT; i++)
        Py_CLEAR(state->types[i]);
    for (int i = 0; i < MMD_PY_RECORD_COUNT; i++)
        Py_CLEAR(state->records[i]);
    Py_CLEAR(state->named);
    return 0;
}

static void module_free(void *module)
{
    module_clear(module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, module_exec},
#ifdef Py_mod_gil /* The GIL protects what models and motions keep for the next call. */
                                   {Py_mod_gil, Py_MOD_GIL_USED},
#endif
                                   {0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "mmdskin._mmdskin",
    .m_doc = "The native part of the package mmdskin, which exports all its names.",
    .m_size = sizeof(mmd_py_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free};

PyMODINIT_FUNC PyInit__mmdskin(void);

PyMODINIT_FUNC PyInit__mmdskin(void)
{
    return PyModuleDef_Init(&definition);
}

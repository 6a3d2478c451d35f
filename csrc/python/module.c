/* SPDX-License-Identifier: MIT */
#include "python/module.h"

#include "gl/gl_thread.h"
#include "python/arrays.h"
#include "python/backends.h"

/* The module, as Python would write it:

    __version__: str

    class FormatError(ValueError): offset: int; section: str
    class BackendError(RuntimeError): ...
    class Model: ...                 # model_type.c, with load_model
    class Mesh: ...                  # mesh_type.c
    Bone, Append, IK, ... = collections.namedtuple(...)   # records.c

    def load_model(source): ...
    def skin(mesh, bone_matrices, morph_weights=None, *, ...): ...   # skin.c
    def backends(): ...                                              # backends.c
    def shutdown(): ...                                              # backends.c
*/

mmd_state *mmd_state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

mmd_state *mmd_state_of_object(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

static PyObject *raise_format(mmd_state *state, const mmd_error *err)
{
    PyObject *text = PyUnicode_FromFormat(
        err->section[0] ? "%s, byte %zu: %s" : "%.0sbyte %zu: %s", err->section, err->offset,
        err->text);
    PyObject *error = text ? PyObject_CallFunction(state->format_error, "N", text) : NULL;
    PyObject *offset = PyLong_FromSize_t(err->offset);
    PyObject *section = PyUnicode_FromString(err->section);
    if (error && offset && section && PyObject_SetAttrString(error, "offset", offset) == 0 &&
        PyObject_SetAttrString(error, "section", section) == 0)
        PyErr_SetObject(state->format_error, error);
    Py_XDECREF(error);
    Py_XDECREF(offset);
    Py_XDECREF(section);
    return NULL;
}

PyObject *mmd_raise(mmd_state *state, const mmd_error *err)
{
    switch (err->code) {
    case MMD_E_MEMORY:
        return PyErr_NoMemory();
    case MMD_E_FORMAT:
        return raise_format(state, err);
    case MMD_E_BACKEND:
        PyErr_SetString(state->backend_error, err->text);
        return NULL;
    case MMD_E_ARGUMENT:
        PyErr_SetString(PyExc_ValueError, err->text);
        return NULL;
    case MMD_E_NONE:
        break;
    }
    PyErr_SetString(PyExc_SystemError, "failure without an error");
    return NULL;
}

PyDoc_STRVAR(module_doc,
             "The deformed mesh of an MMD model, exactly as MMD computes it, as numpy arrays.\n"
             "\n"
             "    model = mmdskin.load_model(\"model.pmx\")\n"
             "    matrices = numpy.tile(numpy.eye(4, dtype=\"f4\"), (len(model.bones), 1, 1))\n"
             "    out = mmdskin.skin(model, matrices)\n"
             "    out.positions, out.normals      # (V,3) float32\n"
             "\n"
             "Space and units are those of the file: left-handed, +Y up, 1 unit = 8 cm, angles in\n"
             "radians. Models, meshes and records are immutable; every function may be called from\n"
             "any thread.");

PyDoc_STRVAR(format_error_doc,
             "A file that cannot be read.\n"
             "\n"
             "`offset` (int) is the byte in the file, `section` (str) the part of it that was being\n"
             "read, such as \"header\" or \"bones[12]\".");

PyDoc_STRVAR(backend_error_doc,
             "A backend that does not work here, or a CPU kernel that this CPU lacks; for OpenGL in\n"
             "the words of its driver.");

static PyMethodDef methods[] = {
    {"load_model", mmd_load_model, METH_O, mmd_load_model_doc},
    {"skin", (PyCFunction)(void (*)(void))mmd_skin_call, METH_VARARGS | METH_KEYWORDS,
     mmd_skin_doc},
    {"backends", mmd_backends, METH_NOARGS, mmd_backends_doc},
    {"shutdown", mmd_shutdown, METH_NOARGS, mmd_shutdown_doc},
    {NULL, NULL, 0, NULL},
};

static int add_errors(PyObject *module, mmd_state *state)
{
    PyObject *attributes = Py_BuildValue("{s:i,s:s}", "offset", 0, "section", "");
    if (!attributes)
        return -1;
    state->format_error = PyErr_NewExceptionWithDoc("mmdskin.FormatError", format_error_doc,
                                                    PyExc_ValueError, attributes);
    Py_DECREF(attributes);
    state->backend_error = PyErr_NewExceptionWithDoc("mmdskin.BackendError", backend_error_doc,
                                                     PyExc_RuntimeError, NULL);
    if (!state->format_error || !state->backend_error ||
        PyModule_AddObjectRef(module, "FormatError", state->format_error) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "BackendError", state->backend_error);
}

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **slot)
{
    *slot = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *slot ? PyModule_AddType(module, *slot) : -1;
}

static int module_exec(PyObject *module)
{
    mmd_state *state = mmd_state_of(module);
    if (mmd_arrays_init() < 0 || add_errors(module, state) < 0 ||
        add_type(module, &mmd_model_spec, &state->model_type) < 0 ||
        add_type(module, &mmd_mesh_spec, &state->mesh_type) < 0 ||
        mmd_records_init(module, state) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "__version__", MMDSKIN_VERSION);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    mmd_state *state = mmd_state_of(module);
    Py_VISIT(state->model_type);
    Py_VISIT(state->mesh_type);
    Py_VISIT(state->format_error);
    Py_VISIT(state->backend_error);
    for (size_t i = 0; i < MMD_RECORD_COUNT; i++)
        Py_VISIT(state->records[i]);
    return 0;
}

static int module_clear(PyObject *module)
{
    mmd_state *state = mmd_state_of(module);
    Py_CLEAR(state->model_type);
    Py_CLEAR(state->mesh_type);
    Py_CLEAR(state->format_error);
    Py_CLEAR(state->backend_error);
    for (size_t i = 0; i < MMD_RECORD_COUNT; i++)
        Py_CLEAR(state->records[i]);
    return 0;
}

static void module_free(void *module)
{
    module_clear(module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "mmdskin",
    .m_doc = module_doc,
    .m_size = sizeof(mmd_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit_mmdskin(void)
{
    return PyModuleDef_Init(&definition);
}

/* SPDX-License-Identifier: MIT */
/* Model.save(): PMX. */
#include "python/exceptions.h"
#include "python/types.h"

PyObject *mmd_py_model_write(mmd_py_state *state, const mmd_model *model)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)mmd_pmx_size(model));
    if (!bytes)
        return NULL;
    uint8_t *out = (uint8_t *)PyBytes_AsString(bytes);
    mmd_error err = {0};
    bool written;
    Py_BEGIN_ALLOW_THREADS
    written = mmd_pmx_write(model, out, &err);
    Py_END_ALLOW_THREADS
    if (!written) {
        mmd_py_exceptions_raise(state, &err);
        Py_CLEAR(bytes);
    }
    return bytes;
}

PyObject *mmd_py_model_save(PyObject *self, PyObject *path)
{
    PyObject *ending =
        mmd_py_object_call(MMD_PY_FILE_IO, "check_name", "(Oss)", path, "model", ".pmx");
    PyObject *bytes = ending ? mmd_py_model_saved_bytes(self) : NULL;
    Py_XDECREF(ending);
    return bytes ? mmd_py_object_call(MMD_PY_FILE_IO, "write", "(ON)", path, bytes) : NULL;
}

const char mmd_py_model_save_doc[] =
    "save($self, path, /)\n--\n\n"
    "Writes a PMX file of the model's version, 2.0 if it was a PMD. A PMX that load_model() did\n"
    "not have to clean is written as it was read, byte for byte, with its encoding of texts and\n"
    "its sizes of indices; any other file loads as an equal model. Textures are not copied:\n"
    "their paths are relative to the file.\n\n"
    "path: a path (str or os.PathLike), or a binary file open for writing. A path that exists\n"
    "    keeps its old contents until the new ones are on the disk.\n\n"
    "Raises ValueError for the extension of another format, such as .pmd, and if the file had\n"
    "soft bodies, which a Model does not hold, before anything is written; OSError for a file\n"
    "that cannot be written.";

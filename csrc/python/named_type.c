/* SPDX-License-Identifier: MIT */
/* The Python type Named: a tuple of records that finds them by name, too. */
#include "python/exceptions.h"
#include "python/types.h"

static PyType_Spec named_spec;

/* {name: its first record}, NULL until a name is looked up: behind the items, as the limited API
   has no other place in a tuple. mmd_py_named_get_spec() makes the room. */
static PyObject **index_slot(PyObject *self)
{
    char *items_end =
        (char *)self + named_spec.basicsize + PyTuple_Size(self) * named_spec.itemsize;
    return (PyObject **)(void *)items_end - 1;
}

/* Adds the last record first, so that the first of equal names remains. */
static PyObject *build_index(PyObject *self)
{
    PyObject *attribute = PyUnicode_InternFromString("name");
    PyObject *index = attribute ? PyDict_New() : NULL;
    for (Py_ssize_t i = PyTuple_Size(self); index && i-- > 0;) {
        PyObject *record = PyTuple_GetItem(self, i);
        PyObject *name = PyObject_GetAttr(record, attribute);
        if (!name || PyDict_SetItem(index, name, record) < 0)
            Py_CLEAR(index);
        Py_XDECREF(name);
    }
    Py_XDECREF(attribute);
    return index;
}

/* The first record of a name, borrowed; NULL without one, or with an exception. */
static PyObject *find(PyObject *self, PyObject *name)
{
    PyObject *index = Py_XNewRef(*index_slot(self));
    if (!index && !(index = build_index(self)))
        return NULL;
    /* Unless another thread has meanwhile, or nothing would free it any more. */
    if (!*index_slot(self) && !PyObject_GC_IsFinalized(self))
        *index_slot(self) = Py_NewRef(index);
    PyObject *record = PyDict_GetItemWithError(index, name);
    Py_DECREF(index);
    return record;
}

static PyObject *subscript(PyObject *self, PyObject *key)
{
    if (!PyUnicode_Check(key)) {
        binaryfunc of_tuple = (binaryfunc)PyType_GetSlot(&PyTuple_Type, Py_mp_subscript);
        return of_tuple(self, key);
    }
    PyObject *record = find(self, key);
    if (!record && !PyErr_Occurred())
        mmd_py_exceptions_raise_unknown(key, "record", self, false);
    return Py_XNewRef(record);
}

static int contains(PyObject *self, PyObject *value)
{
    if (!PyUnicode_Check(value)) {
        objobjproc of_tuple = (objobjproc)PyType_GetSlot(&PyTuple_Type, Py_sq_contains);
        return of_tuple(self, value);
    }
    PyObject *record = find(self, value);
    return PyErr_Occurred() ? -1 : record != NULL;
}

static PyObject *get(PyObject *self, PyObject *args)
{
    PyObject *name, *fallback = Py_None;
    if (!PyArg_ParseTuple(args, "U|O:get", &name, &fallback))
        return NULL;
    PyObject *record = find(self, name);
    if (PyErr_Occurred())
        return NULL;
    return Py_NewRef(record ? record : fallback);
}

static PyObject *get_names(PyObject *self, void *unused)
{
    (void)unused;
    Py_ssize_t count = PyTuple_Size(self);
    PyObject *names = PyTuple_New(count);
    for (Py_ssize_t i = 0; names && i < count; i++) {
        PyObject *name = PyObject_GetAttrString(PyTuple_GetItem(self, i), "name");
        if (name)
            PyTuple_SetItem(names, i, name);
        else
            Py_CLEAR(names);
    }
    return names;
}

/* As in tuple, but objects of heap types also own their type. */
static int named_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(*index_slot(self));
    traverseproc of_tuple = (traverseproc)PyType_GetSlot(&PyTuple_Type, Py_tp_traverse);
    return of_tuple(self, visit, arg);
}

/* Not a destructor: Python's own for heap types unwinds tuples within tuples without recursion. */
static void named_finalize(PyObject *self)
{
    Py_CLEAR(*index_slot(self));
}

static PyMethodDef named_methods[] = {{"get", get, METH_VARARGS,
                                       "get($self, name, default=None, /)\n--\n\n"
                                       "The first record of this name, or `default`."},
                                      {0}};

static PyGetSetDef named_members[] = {
    {"names", get_names, NULL, "Tuple of str: the names of the records, in order.", NULL}, {0}};

static const char named_doc[] =
    "Named(iterable=(), /)\n--\n\n"
    "A tuple of records that also finds them by name: bones[\"センター\"] is the first bone of\n"
    "this name (UnknownNameError without one), and \"センター\" in bones says whether there is\n"
    "one. Names must match exactly.";

static PyType_Slot named_slots[] = {
    {Py_tp_doc, (void *)named_doc},   {Py_tp_traverse, named_traverse},
    {Py_tp_finalize, named_finalize}, {Py_mp_subscript, subscript},
    {Py_sq_contains, contains},       {Py_tp_methods, named_methods},
    {Py_tp_getset, named_members},    {0, NULL}};

static PyType_Spec named_spec = {.name = "mmdskin.Named",
                                 .itemsize = sizeof(PyObject *),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                          Py_TPFLAGS_IMMUTABLETYPE,
                                 .slots = named_slots};

PyType_Spec *mmd_py_named_get_spec(void)
{
    PyObject *size = PyObject_GetAttrString((PyObject *)&PyTuple_Type, "__basicsize__");
    int of_tuple = size ? (int)PyLong_AsLong(size) : -1;
    Py_XDECREF(size);
    if (of_tuple < 0)
        return NULL;
    named_spec.basicsize = of_tuple + (int)sizeof(PyObject *);
    return &named_spec;
}

/* SPDX-License-Identifier: MIT */
/* The error for a name that does not exist: it names similar ones. */
#include "python/similar_names.h"

/* Folds width and case of letters, which people mix up when they type a name. */
static PyObject *fold(PyObject *unicodedata, PyObject *name)
{
    PyObject *narrow = PyObject_CallMethod(unicodedata, "normalize", "sO", "NFKC", name);
    PyObject *folded = narrow ? PyObject_CallMethod(narrow, "casefold", NULL) : NULL;
    Py_XDECREF(narrow);
    return folded;
}

/* {folded name: what to show} */
static PyObject *folded_names(PyObject *unicodedata, PyObject *names, PyObject *shown)
{
    PyObject *folded = PyDict_New();
    for (Py_ssize_t i = 0; folded && i < PyList_Size(names); i++) {
        PyObject *key = fold(unicodedata, PyList_GetItem(names, i));
        if (!key || PyDict_SetItem(folded, key, PyList_GetItem(shown, i)) < 0)
            Py_CLEAR(folded);
        Py_XDECREF(key);
    }
    return folded;
}

/* What to show for the folded names that were found, each once: the keys of a dict. */
static PyObject *whole_names(PyObject *folded, PyObject *found)
{
    PyObject *whole = PyDict_New();
    for (Py_ssize_t i = 0; whole && i < PyList_Size(found); i++) {
        PyObject *shown = PyDict_GetItem(folded, PyList_GetItem(found, i));
        if (!shown || PyDict_SetItem(whole, shown, Py_None) < 0)
            Py_CLEAR(whole);
    }
    return whole;
}

/* Up to three similar names, best first, as `A", "B", "C`. */
static PyObject *similar_names(PyObject *names, PyObject *shown, PyObject *name)
{
    PyObject *difflib = PyImport_ImportModule("difflib");
    PyObject *unicodedata = difflib ? PyImport_ImportModule("unicodedata") : NULL;
    PyObject *folded = unicodedata ? folded_names(unicodedata, names, shown) : NULL;
    PyObject *folded_name = folded ? fold(unicodedata, name) : NULL;
    PyObject *found = folded_name ? PyObject_CallMethod(difflib, "get_close_matches", "OOid",
                                                        folded_name, folded, 3, 0.3)
                                  : NULL;
    PyObject *whole = found ? whole_names(folded, found) : NULL;
    PyObject *comma = whole ? PyUnicode_FromString("\", \"") : NULL;
    PyObject *text = comma ? PyUnicode_Join(comma, whole) : NULL;
    Py_XDECREF(comma);
    Py_XDECREF(whole);
    Py_XDECREF(found);
    Py_XDECREF(folded_name);
    Py_XDECREF(folded);
    Py_XDECREF(unicodedata);
    Py_XDECREF(difflib);
    return text;
}

void mmd_py_similar_names_raise(const char *item, PyObject *names, PyObject *shown, PyObject *name)
{
    PyObject *similar = similar_names(names, shown, name);
    if (similar && PyUnicode_GetLength(similar))
        PyErr_Format(PyExc_KeyError, "no %s \"%U\"; nearest: \"%U\"", item, name, similar);
    else if (similar)
        PyErr_Format(PyExc_KeyError, "no %s \"%U\" and no similar name", item, name);
    Py_XDECREF(similar);
}

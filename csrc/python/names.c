/* SPDX-License-Identifier: MIT */
/* The numbers of bones and morphs by their names. */
#include "python/names.h"

#include "python/records.h"

const char *const mmd_named_words[] = {[MMD_NAMED_BONES] = "bone", [MMD_NAMED_MORPHS] = "morph"};

/* Of equal names the first item has it: they are added from the last on. */
static bool add_names(PyObject *numbers, const mmd_text *name, size_t stride, size_t count)
{
    bool added = true;
    for (size_t i = count; added && i-- > 0;) {
        const mmd_text *at = (const mmd_text *)((const char *)name + i * stride);
        if (at->size == 0)
            continue;
        PyObject *key = mmd_text_object(*at), *number = PyLong_FromSize_t(i);
        added = key && number && PyDict_SetItem(numbers, key, number) == 0;
        Py_XDECREF(key);
        Py_XDECREF(number);
    }
    return added;
}

/* {name: index}, in which Japanese names stand above English ones. */
static PyObject *make_numbers(const mmd_model *model, mmd_named kind)
{
    PyObject *numbers = PyDict_New();
    const mmd_bone *bones = model->bones;
    const mmd_morph *morphs = model->morphs;
    size_t bone_count = model->bone_count, morph_count = model->morph_count;
    bool made = numbers != NULL;
    if (kind == MMD_NAMED_BONES)
        made = made && add_names(numbers, &bones->name_english, sizeof *bones, bone_count) &&
               add_names(numbers, &bones->name, sizeof *bones, bone_count);
    else
        made = made && add_names(numbers, &morphs->name_english, sizeof *morphs, morph_count) &&
               add_names(numbers, &morphs->name, sizeof *morphs, morph_count);
    if (!made)
        Py_CLEAR(numbers);
    return numbers;
}

/* Borrowed. Made when first asked for; of two threads that do so at once one keeps its own. */
static PyObject *numbers_of(PyObject *self, mmd_named kind)
{
    PyObject **kept = mmd_model_numbers(self, kind);
    if (!*kept) {
        PyObject *made = make_numbers(mmd_model_data(self), kind);
        if (*kept)
            Py_XDECREF(made);
        else
            *kept = made;
    }
    return *kept;
}

/* As people type it: full-width letters and the case of letters are the same to them. */
static PyObject *plain(PyObject *unicodedata, PyObject *name)
{
    PyObject *narrow = PyObject_CallMethod(unicodedata, "normalize", "sO", "NFKC", name);
    PyObject *folded = narrow ? PyObject_CallMethod(narrow, "casefold", NULL) : NULL;
    Py_XDECREF(narrow);
    return folded;
}

/* {plain name: name} */
static PyObject *plain_names(PyObject *unicodedata, PyObject *numbers)
{
    PyObject *names = PyDict_New(), *name, *number;
    for (Py_ssize_t at = 0; names && PyDict_Next(numbers, &at, &name, &number);) {
        PyObject *key = plain(unicodedata, name);
        if (!key || PyDict_SetItem(names, key, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(key);
    }
    return names;
}

/* The three names most like this one, best first: `A", "B", "C`; empty when there is none. */
static PyObject *nearest(PyObject *numbers, PyObject *name)
{
    PyObject *difflib = PyImport_ImportModule("difflib");
    PyObject *unicodedata = difflib ? PyImport_ImportModule("unicodedata") : NULL;
    PyObject *names = unicodedata ? plain_names(unicodedata, numbers) : NULL;
    PyObject *sought = names ? plain(unicodedata, name) : NULL;
    PyObject *found =
        sought ? PyObject_CallMethod(difflib, "get_close_matches", "OOid", sought, names, 3, 0.3)
               : NULL;
    for (Py_ssize_t i = 0; found && i < PyList_Size(found); i++) {
        PyObject *whole = PyDict_GetItem(names, PyList_GetItem(found, i));
        if (!whole || PyList_SetItem(found, i, Py_NewRef(whole)) < 0)
            Py_CLEAR(found);
    }
    PyObject *comma = found ? PyUnicode_FromString("\", \"") : NULL;
    PyObject *text = comma ? PyUnicode_Join(comma, found) : NULL;
    Py_XDECREF(comma);
    Py_XDECREF(found);
    Py_XDECREF(sought);
    Py_XDECREF(names);
    Py_XDECREF(unicodedata);
    Py_XDECREF(difflib);
    return text;
}

static void raise_unknown(PyObject *numbers, mmd_named kind, PyObject *name)
{
    PyObject *near = nearest(numbers, name);
    if (near && PyUnicode_GetLength(near))
        PyErr_Format(PyExc_KeyError, "no %s \"%U\"; nearest: \"%U\"", mmd_named_words[kind], name,
                     near);
    else if (near)
        PyErr_Format(PyExc_KeyError, "no %s \"%U\", and none like it", mmd_named_words[kind], name);
    Py_XDECREF(near);
}

PyObject *mmd_named_number(PyObject *self, mmd_named kind, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a name (str), not %R", mmd_named_words[kind],
                     (PyObject *)Py_TYPE(name));
        return NULL;
    }
    PyObject *numbers = numbers_of(self, kind);
    PyObject *number = numbers ? PyDict_GetItemWithError(numbers, name) : NULL;
    if (!number && numbers && !PyErr_Occurred())
        raise_unknown(numbers, kind, name);
    return number;
}

PyObject *mmd_py_bone(PyObject *self, PyObject *name)
{
    return Py_XNewRef(mmd_named_number(self, MMD_NAMED_BONES, name));
}

PyObject *mmd_py_morph(PyObject *self, PyObject *name)
{
    return Py_XNewRef(mmd_named_number(self, MMD_NAMED_MORPHS, name));
}

const char mmd_bone_doc[] =
    "bone($self, name, /)\n--\n\n"
    "The index of the bone of this name: the first whose Japanese name it is, else the first "
    "whose\n"
    "English name. Raises KeyError, which says what the nearest names are.";

const char mmd_morph_doc[] = "morph($self, name, /)\n--\n\n"
                             "The index of the morph of this name, by the rules of bone().";

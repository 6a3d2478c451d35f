/* SPDX-License-Identifier: MIT */
/* Bones and morphs by name: Model.bone(), Model.morph(), Model.sliders(), and dicts of values. */
#include "python/types.h"

#include "core/base/error.h"
#include "python/argument.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/record.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Indices by name */

static const char *const kind_words[] = {
    [MMD_PY_BONE_NAMES] = "bone", [MMD_PY_MORPH_NAMES] = "morph"};

/* Adds the last item first, so that the first of equal names remains. */
static bool add_names(PyObject *index, const mmd_text *names, size_t stride, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        const mmd_text *name = (const mmd_text *)(const void *)((const char *)names + i * stride);
        MMD_PY_OWNED PyObject *text = mmd_py_record_str(*name);
        MMD_PY_OWNED PyObject *item = text ? PyLong_FromSize_t(i) : NULL;
        if (!item || (name->size && PyDict_SetItem(index, text, item) < 0))
            return false;
    }
    return true;
}

/* Japanese names take precedence over English ones, so they are added last. */
static bool fill_index(const mmd_model *model, mmd_py_model_name_kind kind, PyObject *index)
{
    const mmd_bone *bones = model->bones;
    const mmd_morph *morphs = model->morphs;
    if (kind == MMD_PY_BONE_NAMES)
        return add_names(index, &bones->name_english, sizeof *bones, model->bone_count) &&
               add_names(index, &bones->name, sizeof *bones, model->bone_count);
    return add_names(index, &morphs->name_english, sizeof *morphs, model->morph_count) &&
           add_names(index, &morphs->name, sizeof *morphs, model->morph_count);
}

/* Built at first use; borrowed. NULL with an exception. */
static PyObject *get_index(PyObject *self, mmd_py_model_name_kind kind)
{
    PyObject **slot = &mmd_py_model_of(self)->name_indices[kind];
    if (*slot)
        return *slot;
    MMD_PY_OWNED PyObject *index = PyDict_New();
    if (!index || !fill_index(mmd_py_model_of(self)->model, kind, index))
        return NULL;
    if (!*slot) /* no other thread was faster */
        *slot = Py_NewRef(index);
    return *slot;
}

/* With UnknownNameError, which reads the names only if its text is. */
static void raise_unknown(PyObject *self, mmd_py_model_name_kind kind, PyObject *name)
{
    MMD_PY_OWNED PyObject *records =
        PyObject_GetAttrString(self, kind == MMD_PY_BONE_NAMES ? "bones" : "morphs");
    if (records)
        mmd_py_exceptions_raise_unknown(name, kind_words[kind], records);
}

/* False with UnknownNameError, or with TypeError for a name that is not a str. */
static bool find_item(PyObject *self, mmd_py_model_name_kind kind, PyObject *name, size_t *item)
{
    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "%s: expected a name (str), not %R", kind_words[kind],
                            (PyObject *)Py_TYPE(name));
    PyObject *index = get_index(self, kind);
    PyObject *found = index ? PyDict_GetItemWithError(index, name) : NULL;
    if (found)
        *item = PyLong_AsSize_t(found);
    else if (index && !PyErr_Occurred())
        raise_unknown(self, kind, name);
    return found != NULL;
}

static PyObject *find(PyObject *self, mmd_py_model_name_kind kind, PyObject *name)
{
    size_t item = 0;
    return find_item(self, kind, name, &item) ? PyLong_FromSize_t(item) : NULL;
}

PyObject *mmd_py_model_bone(PyObject *self, PyObject *name)
{
    return find(self, MMD_PY_BONE_NAMES, name);
}

PyObject *mmd_py_model_morph(PyObject *self, PyObject *name)
{
    return find(self, MMD_PY_MORPH_NAMES, name);
}

/* Dicts of values by name */

/* The items of a dict, resolved to indices of bones or morphs. */
typedef struct named_items {
    PyObject *pairs; /* list of (name, value) */
    size_t count;
    size_t *indices; /* (count,) */
} named_items;

static void clear_items(named_items *items)
{
    PyMem_Free(items->indices);
    Py_CLEAR(items->pairs);
}

/* Refuses two names of the same item, such as its Japanese and its English one. */
static bool resolve_items(PyObject *self, mmd_py_model_name_kind kind, size_t limit,
                          named_items *items)
{
    PyObject **names = PyMem_Calloc(limit + 1, sizeof *names);
    items->indices = PyMem_Calloc(items->count + 1, sizeof *items->indices);
    bool ok = names && items->indices;
    if (!ok)
        PyErr_NoMemory();
    for (size_t i = 0; ok && i < items->count; i++) {
        PyObject *name = PyTuple_GetItem(PyList_GetItem(items->pairs, (Py_ssize_t)i), 0);
        ok = find_item(self, kind, name, &items->indices[i]);
        if (!ok)
            break;
        size_t at = items->indices[i];
        ok = !names[at];
        if (!ok)
            PyErr_Format(PyExc_ValueError, "%U: is the same %s as %U", name, kind_words[kind],
                         names[at]);
        names[at] = name;
    }
    PyMem_Free(names);
    return ok;
}

/* The items() of a mapping that is not a dict may return anything. */
static bool check_pairs(const char *argument, named_items *items)
{
    items->count = (size_t)PyList_Size(items->pairs);
    for (size_t i = 0; i < items->count; i++) {
        PyObject *pair = PyList_GetItem(items->pairs, (Py_ssize_t)i);
        if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2)
            return PyErr_Format(PyExc_TypeError, "%s: expected items (name, value), not %R",
                                argument, pair);
    }
    return true;
}

static bool parse_items(PyObject *self, mmd_py_model_name_kind kind, size_t limit, PyObject *dict,
                        const char *argument, named_items *items)
{
    MMD_PY_OWNED PyObject *method =
        PyMapping_Check(dict) ? PyObject_GetAttrString(dict, "items") : NULL;
    if (!method) {
        if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Format(PyExc_TypeError, "%s: expected a dict of names, not %R", argument,
                         (PyObject *)Py_TYPE(dict));
        return false;
    }
    items->pairs = PyMapping_Items(dict);
    return items->pairs && check_pairs(argument, items) && resolve_items(self, kind, limit, items);
}

static PyObject *value_of(const named_items *items, size_t i)
{
    return PyTuple_GetItem(PyList_GetItem(items->pairs, (Py_ssize_t)i), 1);
}

enum { LABEL = 96 };

/* "NAME: WORD", the name cut to 60 bytes. Not by printf: it is needed for each value, in case that
   it is wrong. */
static bool label(const named_items *items, size_t i, const char *word, char out[LABEL])
{
    PyObject *name = PyTuple_GetItem(PyList_GetItem(items->pairs, (Py_ssize_t)i), 0);
    Py_ssize_t size;
    const char *utf8 = PyUnicode_AsUTF8AndSize(name, &size);
    if (!utf8)
        return false;
    size_t length = size < 60 ? (size_t)size : 60;
    memcpy(out, utf8, length);
    strcpy(out + length, *word ? ": " : "");
    strcat(out, word);
    return true;
}

PyObject *mmd_py_model_sliders(PyObject *self, PyObject *dict)
{
    size_t count = mmd_py_model_of(self)->model->morph_count;
    named_items items = {0};
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array sliders = {0};
    bool ok = parse_items(self, MMD_PY_MORPH_NAMES, count, dict, "weights", &items) &&
              mmd_py_array_new_floats(1, &count, &sliders);
    if (ok)
        memset(sliders.data, 0, count * sizeof(float));
    for (size_t i = 0; ok && i < items.count; i++) {
        char name[LABEL];
        float *weight = (float *)sliders.data + items.indices[i];
        ok = label(&items, i, "", name) &&
             mmd_py_argument_numbers(value_of(&items, i), name, MMD_PY_FLOAT32, 1, weight);
        if (ok && !isfinite(*weight)) {
            PyErr_Format(PyExc_ValueError, "%s is %s", name, mmd_numbers_fault((double)*weight));
            ok = false;
        }
    }
    PyObject *result = ok ? Py_NewRef(sliders.object) : NULL;
    clear_items(&items);
    return result;
}

/* The value of one bone. Parts that are None have no data. */
typedef enum part { TRANSLATION, ROTATION, PARTS } part;

static const struct {
    const char *name;
    size_t width;
    float rest[4];
} local_parts[PARTS] = {
    [TRANSLATION] = {"translation", 3, {0}}, [ROTATION] = {"rotation", 4, {[3] = 1}}};

typedef struct bone_value {
    mmd_py_array of[PARTS];
    float numbers[PARTS][4]; /* the data where it was a tuple or list of numbers */
} bone_value;

static void raise_value(const char *name, const mmd_py_array *array, size_t frame,
                        const char *fault, const char *component)
{
    if (array->rank == 2)
        PyErr_Format(PyExc_ValueError, "%s, frame %zu %s%s", name, frame, fault, component);
    else
        PyErr_Format(PyExc_ValueError, "%s %s%s", name, fault, component);
}

static bool check_value(const char *name, const mmd_py_array *array, part which)
{
    static const char *const components[] = {" in x", " in y", " in z", " in w"};
    const float *numbers = array->data;
    size_t width = local_parts[which].width, frames = array->rank == 2 ? array->shape[0] : 1;
    size_t bad = mmd_numbers_first_not_finite(numbers, frames * width);
    if (bad < frames * width) {
        const char *fault = isnan(numbers[bad]) ? "is NaN" : "is infinite";
        raise_value(name, array, bad / width, fault, components[bad % width]);
        return false;
    }
    for (size_t f = 0; which == ROTATION && f < frames; f++) {
        const float *q = numbers + 4 * f;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0) {
            raise_value(name, array, f, "has zero length", "");
            return false;
        }
    }
    return true;
}

/* A number that is finite as a float32. */
static bool read_number(PyObject *object, float *out)
{
    int too_large = 0;
    double number = PyFloat_Check(object) ? PyFloat_AsDouble(object)
                    : PyLong_CheckExact(object)
                        ? (double)PyLong_AsLongAndOverflow(object, &too_large)
                        : (double)NAN;
    *out = fabs(number) <= (double)FLT_MAX ? (float)number : NAN;
    return !too_large && isfinite(*out);
}

/* What most programs give, for which NumPy takes ten times as long. False for everything else, also
   for what is an error. */
static bool read_plain(PyObject *value, part which, float *out)
{
    bool is_list = PyList_CheckExact(value);
    size_t width = local_parts[which].width;
    if ((!is_list && !PyTuple_CheckExact(value)) || PyObject_Size(value) != (Py_ssize_t)width)
        return false;
    bool is_zero = which == ROTATION;
    for (size_t i = 0; i < width; i++) {
        Py_ssize_t at = (Py_ssize_t)i;
        if (!read_number(is_list ? PyList_GetItem(value, at) : PyTuple_GetItem(value, at), out + i))
            return false;
        is_zero &= out[i] == 0;
    }
    return !is_zero;
}

/* `frames` is MMD_PY_ANY until a value has a frame axis. */
static bool parse_part(const named_items *items, size_t i, PyObject *value, part which,
                       size_t *frames, float *numbers, mmd_py_array *array)
{
    char name[LABEL];
    if (value == Py_None)
        return true;
    if (read_plain(value, which, numbers)) {
        array->data = numbers;
        array->rank = 1;
        return true;
    }
    if (!label(items, i, local_parts[which].name, name) ||
        !mmd_py_array_from(value, name, MMD_PY_FLOAT32, false, array))
        return false;
    bool has_frames = array->rank == 2;
    bool any = *frames == 1 || (has_frames && array->shape[0] == 1);
    const size_t shape[] = {any ? MMD_PY_ANY : *frames, local_parts[which].width};
    if (!mmd_py_array_check_shape(array, name, has_frames ? 2 : 1, has_frames ? shape : shape + 1,
                                  "F"))
        return false;
    if (has_frames && (*frames == MMD_PY_ANY || *frames == 1))
        *frames = array->shape[0];
    return check_value(name, array, which);
}

static bool parse_bone(const named_items *items, size_t i, size_t *frames, bone_value *value)
{
    MMD_PY_OWNED PyObject *two = PySequence_Tuple(value_of(items, i));
    bool ok = two && PyTuple_Size(two) == PARTS;
    if (!ok && (two || PyErr_ExceptionMatches(PyExc_TypeError))) {
        char name[LABEL];
        if (label(items, i, "", name))
            PyErr_Format(PyExc_TypeError, "%s: expected (translation, rotation)", name);
    }
    for (int p = 0; ok && p < PARTS; p++)
        ok = parse_part(items, i, PyTuple_GetItem(two, p), (part)p, frames, value->numbers[p],
                        &value->of[p]);
    return ok;
}

static void fill(const named_items *items, const bone_value *values, size_t bones, size_t frames,
                 part which, float *out)
{
    size_t width = local_parts[which].width;
    for (size_t row = 0; row < frames * bones; row++)
        memcpy(out + row * width, local_parts[which].rest, width * sizeof *out);
    for (size_t i = 0; i < items->count; i++) {
        const mmd_py_array *array = &values[i].of[which];
        size_t step = array->rank == 2 && array->shape[0] != 1 ? width : 0;
        for (size_t f = 0; array->data && f < frames; f++)
            memcpy(out + (f * bones + items->indices[i]) * width,
                   (const float *)array->data + f * step, width * sizeof *out);
    }
}

bool mmd_py_model_names_parse_bones(PyObject *self, PyObject *dict, mmd_py_array *translations,
                                    mmd_py_array *rotations, size_t *frames, bool *batched)
{
    size_t bones = mmd_py_model_of(self)->model->bone_count, common = MMD_PY_ANY;
    named_items items = {0};
    bone_value *values = NULL;
    bool ok = parse_items(self, MMD_PY_BONE_NAMES, bones, dict, "translations (without rotations)",
                          &items);
    if (ok && !(values = PyMem_Calloc(items.count + 1, sizeof *values))) {
        PyErr_NoMemory();
        ok = false;
    }
    for (size_t i = 0; ok && i < items.count; i++)
        ok = parse_bone(&items, i, &common, &values[i]);
    *batched = common != MMD_PY_ANY;
    *frames = *batched ? common : 1;
    const size_t vectors[] = {*frames, bones, 3}, quaternions[] = {*frames, bones, 4};
    ok = ok && mmd_py_array_new_floats(3, vectors, translations) &&
         mmd_py_array_new_floats(3, quaternions, rotations);
    if (ok) {
        fill(&items, values, bones, *frames, TRANSLATION, translations->data);
        fill(&items, values, bones, *frames, ROTATION, rotations->data);
    }
    for (size_t i = 0; values && i < items.count; i++)
        for (int p = 0; p < PARTS; p++)
            mmd_py_array_clear(&values[i].of[p]);
    PyMem_Free(values);
    clear_items(&items);
    return ok;
}

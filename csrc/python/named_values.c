/* SPDX-License-Identifier: MIT */
/* Values that a dict gives to bones or morphs by their names. */
#include "python/named_values.h"

#include "core/base/numbers.h"
#include "python/arguments.h"
#include "python/names.h"
#include "python/records.h"

#include <math.h>
#include <string.h>

/* What a dict gives to items of a model. */
typedef struct named_items {
    PyObject *pairs; /* list of (name, value), which holds the names */
    size_t count;
    size_t *numbers; /* (count,) */
} named_items;

static void clear_items(named_items *items)
{
    PyMem_Free(items->numbers);
    Py_CLEAR(items->pairs);
}

/* A name and its other one would both set the same item. */
static bool number_items(PyObject *self, mmd_named kind, size_t limit, named_items *items)
{
    PyObject **givers = PyMem_Calloc(limit + 1, sizeof *givers);
    items->numbers = PyMem_Calloc(items->count + 1, sizeof *items->numbers);
    bool good = givers && items->numbers;
    if (!good)
        PyErr_NoMemory();
    for (size_t i = 0; good && i < items->count; i++) {
        PyObject *name = PyTuple_GetItem(PyList_GetItem(items->pairs, (Py_ssize_t)i), 0);
        PyObject *number = mmd_named_number(self, kind, name);
        good = number != NULL;
        if (!good)
            break;
        size_t at = items->numbers[i] = PyLong_AsSize_t(number);
        good = !givers[at];
        if (!good)
            PyErr_Format(PyExc_ValueError, "%U: names the same %s as %U", name,
                         mmd_named_words[kind], givers[at]);
        givers[at] = name;
    }
    PyMem_Free(givers);
    return good;
}

/* Whatever is no dict may give anything. */
static bool check_pairs(const char *argument, named_items *items)
{
    items->count = (size_t)PyList_Size(items->pairs);
    for (size_t i = 0; i < items->count; i++) {
        PyObject *pair = PyList_GetItem(items->pairs, (Py_ssize_t)i);
        if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
            PyErr_Format(PyExc_TypeError, "%s: its items are pairs of name and value, not %R",
                         argument, pair);
            return false;
        }
    }
    return true;
}

static bool take_items(PyObject *self, mmd_named kind, size_t limit, PyObject *given,
                       const char *argument, named_items *items)
{
    if (!PyMapping_Check(given) || !PyObject_HasAttrString(given, "items")) {
        PyErr_Format(PyExc_TypeError, "%s: expected a dict of names, not %R", argument,
                     (PyObject *)Py_TYPE(given));
        return false;
    }
    items->pairs = PyMapping_Items(given);
    return items->pairs && check_pairs(argument, items) && number_items(self, kind, limit, items);
}

static PyObject *value_of(const named_items *items, size_t i)
{
    return PyTuple_GetItem(PyList_GetItem(items->pairs, (Py_ssize_t)i), 1);
}

/* "NAME: " with a word behind it; a name without end is cut. */
static bool label(const named_items *items, size_t i, const char *word, char *out, size_t size)
{
    PyObject *name = PyTuple_GetItem(PyList_GetItem(items->pairs, (Py_ssize_t)i), 0);
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    if (bytes)
        PyOS_snprintf(out, size, "%.60s%s%s", PyBytes_AsString(bytes), *word ? ": " : "", word);
    Py_XDECREF(bytes);
    return bytes != NULL;
}

PyObject *mmd_py_sliders(PyObject *self, PyObject *given)
{
    size_t count = mmd_model_data(self)->morph_count;
    named_items items = {0};
    mmd_array sliders = {0};
    bool good = take_items(self, MMD_NAMED_MORPHS, count, given, "weights", &items) &&
                mmd_array_new(1, &count, &sliders);
    if (good)
        memset(sliders.data, 0, count * sizeof(float));
    for (size_t i = 0; good && i < items.count; i++) {
        char name[96];
        float *weight = (float *)sliders.data + items.numbers[i];
        good = label(&items, i, "", name, sizeof name) &&
               mmd_numbers_take(value_of(&items, i), name, MMD_FLOAT32, 1, weight);
        if (good && !isfinite(*weight)) {
            PyErr_Format(PyExc_ValueError, "%s is %s", name, mmd_not_finite_name((double)*weight));
            good = false;
        }
    }
    PyObject *result = good ? Py_NewRef(sliders.object) : NULL;
    mmd_array_clear(&sliders);
    clear_items(&items);
    return result;
}

/* What a dict gives to one bone. Arrays that are not given hold nothing. */
typedef enum part { TRANSLATION, ROTATION, PARTS } part;

static const struct {
    const char *name;
    size_t width;
    float rest[4];
} parts[PARTS] = {[TRANSLATION] = {"translation", 3, {0}}, [ROTATION] = {"rotation", 4, {[3] = 1}}};

typedef struct bone_value {
    mmd_array of[PARTS];
} bone_value;

static void raise_value(const char *name, const mmd_array *array, size_t frame, const char *fault,
                        const char *component)
{
    if (array->rank == 2)
        PyErr_Format(PyExc_ValueError, "%s, frame %zu %s%s", name, frame, fault, component);
    else
        PyErr_Format(PyExc_ValueError, "%s %s%s", name, fault, component);
}

static bool check_value(const char *name, const mmd_array *array, part which)
{
    static const char *const components[] = {" in x", " in y", " in z", " in w"};
    const float *numbers = array->data;
    size_t width = parts[which].width, frames = array->rank == 2 ? array->shape[0] : 1;
    size_t bad = mmd_first_not_finite(numbers, frames * width);
    if (bad < frames * width) {
        const char *fault = isnan(numbers[bad]) ? "is NaN" : "is infinite";
        raise_value(name, array, bad / width, fault, components[bad % width]);
        return false;
    }
    for (size_t f = 0; which == ROTATION && f < frames; f++) {
        const float *q = numbers + 4 * f;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0) {
            raise_value(name, array, f, "has no length", "");
            return false;
        }
    }
    return true;
}

/* `frames` is MMD_ANY as long as none has an axis of frames. */
static bool take_part(const named_items *items, size_t i, PyObject *given, part which,
                      size_t *frames, mmd_array *array)
{
    char name[96];
    if (given == Py_None)
        return true;
    if (!label(items, i, parts[which].name, name, sizeof name) ||
        !mmd_array_from(given, name, MMD_FLOAT32, false, array))
        return false;
    bool framed = array->rank == 2;
    bool any = *frames == 1 || (framed && array->shape[0] == 1);
    const size_t shape[] = {any ? MMD_ANY : *frames, parts[which].width};
    if (!mmd_array_check_shape(array, name, framed ? 2 : 1, framed ? shape : shape + 1, "F"))
        return false;
    if (framed && (*frames == MMD_ANY || *frames == 1))
        *frames = array->shape[0];
    return check_value(name, array, which);
}

static bool take_bone(const named_items *items, size_t i, size_t *frames, bone_value *value)
{
    PyObject *two = PySequence_Tuple(value_of(items, i));
    bool good = two && PyTuple_Size(two) == PARTS;
    if (!good && (two || PyErr_ExceptionMatches(PyExc_TypeError))) {
        char name[96];
        if (label(items, i, "", name, sizeof name))
            PyErr_Format(PyExc_TypeError, "%s: expected (translation, rotation)", name);
    }
    for (int p = 0; good && p < PARTS; p++)
        good = take_part(items, i, PyTuple_GetItem(two, p), (part)p, frames, &value->of[p]);
    Py_XDECREF(two);
    return good;
}

static void fill(const named_items *items, const bone_value *values, size_t bones, size_t frames,
                 part which, float *out)
{
    size_t width = parts[which].width;
    for (size_t row = 0; row < frames * bones; row++)
        memcpy(out + row * width, parts[which].rest, width * sizeof *out);
    for (size_t i = 0; i < items->count; i++) {
        const mmd_array *array = &values[i].of[which];
        size_t step = array->rank == 2 && array->shape[0] != 1 ? width : 0;
        for (size_t f = 0; array->object && f < frames; f++)
            memcpy(out + (f * bones + items->numbers[i]) * width,
                   (const float *)array->data + f * step, width * sizeof *out);
    }
}

bool mmd_named_bones(PyObject *self, PyObject *given, mmd_array *translations, mmd_array *rotations,
                     size_t *frames, bool *batch)
{
    size_t bones = mmd_model_data(self)->bone_count, framed = MMD_ANY;
    named_items items = {0};
    bone_value *values = NULL;
    bool good =
        take_items(self, MMD_NAMED_BONES, bones, given, "translations without rotations", &items);
    if (good && !(values = PyMem_Calloc(items.count + 1, sizeof *values))) {
        PyErr_NoMemory();
        good = false;
    }
    for (size_t i = 0; good && i < items.count; i++)
        good = take_bone(&items, i, &framed, &values[i]);
    *batch = framed != MMD_ANY;
    *frames = *batch ? framed : 1;
    const size_t vectors[] = {*frames, bones, 3}, quaternions[] = {*frames, bones, 4};
    good =
        good && mmd_array_new(3, vectors, translations) && mmd_array_new(3, quaternions, rotations);
    if (good) {
        fill(&items, values, bones, *frames, TRANSLATION, translations->data);
        fill(&items, values, bones, *frames, ROTATION, rotations->data);
    }
    for (size_t i = 0; values && i < items.count; i++)
        for (int p = 0; p < PARTS; p++)
            mmd_array_clear(&values[i].of[p]);
    PyMem_Free(values);
    clear_items(&items);
    return good;
}

const char mmd_sliders_doc[] =
    "sliders($self, weights, /)\n--\n\n"
    "Morph weights (M,) float32 of a dict {name: weight}, zero where it names none: what skin(),\n"
    "pose_from() and uvs_at() take. Raises KeyError as morph() does, and ValueError for a weight\n"
    "that is not finite.";

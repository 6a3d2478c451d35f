/* SPDX-License-Identifier: MIT */
#include "python/backends.h"

#include "gl/gl_skin.h"
#include "gl/gl_thread.h"
#include "python/module.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

static const char *const kernel_names[] = {"scalar", "sse2", "avx2", "avx512", "neon"};

/* The thread must be joined before the process ends: drivers may not outlive their libraries. */
static bool register_exit_hook(PyObject *module)
{
    mmd_state *state = mmd_state_of(module);
    if (state->exit_hook)
        return true;
    PyObject *atexit = PyImport_ImportModule("atexit");
    PyObject *hook = PyObject_GetAttrString(module, "shutdown");
    PyObject *result =
        atexit && hook ? PyObject_CallMethod(atexit, "register", "O", hook) : NULL;
    state->exit_hook = result != NULL;
    Py_XDECREF(atexit);
    Py_XDECREF(hook);
    Py_XDECREF(result);
    return state->exit_hook;
}

static bool decide_auto(PyObject *module)
{
    mmd_state *state = mmd_state_of(module);
    if (state->auto_backend != MMD_AUTO_UNDECIDED)
        return true;
    if (!register_exit_hook(module))
        return false;
    char device[256];
    bool works, software = false;
    Py_BEGIN_ALLOW_THREADS
    works = mmd_gl_info(device, sizeof device, &software, NULL);
    Py_END_ALLOW_THREADS
    state->auto_backend = works && !software ? MMD_AUTO_GL : MMD_AUTO_CPU;
    return true;
}

static bool parse_kernel(PyObject *module, const char *name, mmd_backend *out)
{
    out->kernel = mmd_kernel_find(name);
    if (out->kernel)
        return true;
    for (size_t i = 0; i < sizeof kernel_names / sizeof *kernel_names; i++)
        if (strcmp(name, kernel_names[i]) == 0) {
            PyErr_Format(mmd_state_of(module)->backend_error,
                         "backend \"cpu:%s\": this CPU or this build has no %s kernel", name, name);
            return false;
        }
    PyErr_Format(PyExc_ValueError,
                 "backend \"cpu:%s\": kernels are scalar, sse2, avx2, avx512, neon", name);
    return false;
}

bool mmd_backend_parse(PyObject *module, const char *name, mmd_backend *out)
{
    *out = (mmd_backend){.kernel = mmd_kernel_best()};
    if (strcmp(name, "cpu") == 0)
        return true;
    if (strncmp(name, "cpu:", 4) == 0)
        return parse_kernel(module, name + 4, out);
    if (strcmp(name, "gl") == 0) {
        out->gl = true;
        return register_exit_hook(module);
    }
    if (strcmp(name, "auto") == 0) {
        if (!decide_auto(module))
            return false;
        out->gl = out->may_fall_back = mmd_state_of(module)->auto_backend == MMD_AUTO_GL;
        return true;
    }
    PyErr_Format(PyExc_ValueError,
                 "backend: \"%s\", expected \"auto\", \"gl\", \"cpu\" or \"cpu:<kernel>\"", name);
    return false;
}

bool mmd_backend_run(const mmd_backend *backend, const mmd_skin_job *job, bool *fell_back,
                     mmd_error *gl_error, mmd_error *err)
{
    *fell_back = false;
    if (!backend->gl)
        return mmd_skin_cpu(job, backend->kernel, err);
    if (mmd_gl_skin(job, gl_error))
        return true;
    if (!backend->may_fall_back) {
        *err = *gl_error;
        return false;
    }
    *fell_back = true;
    return mmd_skin_cpu(job, backend->kernel, err);
}

void mmd_backend_remember_failure(PyObject *module, const mmd_error *gl_error)
{
    /* A batch that is too large for the device says nothing about the next one. */
    if (gl_error->code != MMD_E_BACKEND)
        return;
    mmd_state *state = mmd_state_of(module);
    state->auto_backend = MMD_AUTO_CPU;
    state->gl_failed = true;
    state->gl_failure = *gl_error;
}

/* The processor's own name, or "" where it does not tell. */
static void processor_name(char text[49])
{
    memset(text, 0, 49);
#if defined(__x86_64__) || defined(__i386__)
    unsigned words[12];
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                         &words[4 * i + 3]))
            return;
    memcpy(text, words, sizeof words);
    size_t lead = strspn(text, " "), size = strlen(text + lead);
    memmove(text, text + lead, size + 1);
    while (size && text[size - 1] == ' ')
        text[--size] = '\0';
#endif
}

static PyObject *cpu_backend(mmd_state *state)
{
    char processor[49], device[96];
    processor_name(processor);
    snprintf(device, sizeof device, processor[0] ? "%s (%s)" : "%s", mmd_kernel_best()->name,
             processor);
    return mmd_record_new(state, MMD_RECORD_BACKEND, "(sOsO)", "cpu", Py_True, device, Py_None);
}

static PyObject *gl_backend(PyObject *module)
{
    if (!register_exit_hook(module))
        return NULL;
    char device[256] = "";
    bool works, software = false;
    mmd_error err = {0};
    Py_BEGIN_ALLOW_THREADS
    works = mmd_gl_info(device, sizeof device, &software, &err);
    Py_END_ALLOW_THREADS
    mmd_state *state = mmd_state_of(module);
    if (works && state->gl_failed) {
        works = false;
        err = state->gl_failure;
    }
    /* "z" makes None of NULL. */
    return mmd_record_new(state, MMD_RECORD_BACKEND, "(sOzz)", "gl", works ? Py_True : Py_False,
                          device[0] ? device : NULL, works ? NULL : err.text);
}

const char mmd_backends_doc[] =
    "backends()\n"
    "--\n"
    "\n"
    "What skin() can run on: a tuple of Backend(name, available, device, reason) for \"gl\" and\n"
    "\"cpu\".\n"
    "\n"
    "device (str) is the OpenGL renderer, or the best kernel and the processor; None where there\n"
    "is none. reason (str) tells why a backend is not available, else it is None. Starts the\n"
    "OpenGL thread.";

const char mmd_shutdown_doc[] =
    "shutdown()\n"
    "--\n"
    "\n"
    "Stop the OpenGL thread and free what meshes keep on the device. A later call of skin() or\n"
    "backends() starts it again. Happens at exit by itself; harmless when nothing was started.";

PyObject *mmd_backends(PyObject *module, PyObject *unused)
{
    (void)unused;
    PyObject *gl = gl_backend(module);
    PyObject *cpu = gl ? cpu_backend(mmd_state_of(module)) : NULL;
    PyObject *result = cpu ? PyTuple_Pack(2, gl, cpu) : NULL;
    Py_XDECREF(gl);
    Py_XDECREF(cpu);
    return result;
}

PyObject *mmd_shutdown(PyObject *module, PyObject *unused)
{
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    mmd_gl_shutdown();
    Py_END_ALLOW_THREADS
    mmd_state *state = mmd_state_of(module);
    state->auto_backend = MMD_AUTO_UNDECIDED;
    state->gl_failed = false;
    Py_RETURN_NONE;
}

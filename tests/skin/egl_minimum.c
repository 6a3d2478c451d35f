/* SPDX-License-Identifier: MIT */
/* The real EGL with a driver that grants just what OpenGL 4.3 guarantees, and refuses more as the
   drivers of graphics cards do: by an error, or by a program that does not link. Writes the sources
   of all shaders to the folder MMDSKIN_TEST_SHADERS. Linked to the libEGL of the machine, which
   provides all other functions. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names and numbers of the OpenGL 4.3 core specification; the limits are those of its tables. */
enum {
    GL_INVALID_VALUE = 0x0501,
    GL_FLOAT = 0x1406,
    GL_RENDERER = 0x1F01,
    GL_VERSION = 0x1F02,
    GL_COMPUTE_WORK_GROUP_SIZE = 0x8267,
    GL_NUM_EXTENSIONS = 0x821D,
    GL_BUFFER_SIZE = 0x8764,
    GL_R32F = 0x822E,
    GL_R32I = 0x8235,
    GL_UNIFORM_BUFFER = 0x8A11,
    GL_FLOAT_VEC2 = 0x8B50,
    GL_FLOAT_VEC4 = 0x8B52,
    GL_FIRST_SAMPLER = 0x8B5D, /* sampler1D */
    GL_LAST_FLOAT_SAMPLER = 0x8B64,
    GL_FIRST_ARRAY_SAMPLER = 0x8DC0,
    GL_LAST_SAMPLER = 0x8DD8,
    GL_FRAGMENT_SHADER = 0x8B30,
    GL_VERTEX_SHADER = 0x8B31,
    GL_SHADER_TYPE = 0x8B4F,
    GL_LINK_STATUS = 0x8B82,
    GL_TEXTURE_BUFFER = 0x8C2A,
    GL_SHADER_STORAGE_BUFFER = 0x90D2,
    GL_UNIFORM = 0x92E1,
    GL_UNIFORM_BLOCK = 0x92E2,
    GL_PROGRAM_INPUT = 0x92E3,
    GL_SHADER_STORAGE_BLOCK = 0x92E6,
    GL_TRANSFORM_FEEDBACK_VARYING = 0x92F4,
    GL_ACTIVE_RESOURCES = 0x92F5,
    GL_REFERENCED_BY_VERTEX_SHADER = 0x9306,
    GL_REFERENCED_BY_COMPUTE_SHADER = 0x930B,
    GL_TYPE = 0x92FA,
    ALIGNMENT = 256,
    MAX_TEXELS = 65536,
    MAX_STORAGE_BLOCK = 1 << 24,
    MAX_UNIFORM_BLOCK = 1 << 14,
    MAX_GROUPS = 65535
};

static const struct {
    unsigned name;
    int value;
} limits[] = {{GL_NUM_EXTENSIONS, 0},
              {0x0D33 /* MAX_TEXTURE_SIZE */, 16384},
              {0x84E8 /* MAX_RENDERBUFFER_SIZE */, 16384},
              {0x8A30 /* MAX_UNIFORM_BLOCK_SIZE */, MAX_UNIFORM_BLOCK},
              {0x8A34 /* UNIFORM_BUFFER_OFFSET_ALIGNMENT */, ALIGNMENT},
              {0x8C2B /* MAX_TEXTURE_BUFFER_SIZE */, MAX_TEXELS},
              {0x8C80 /* MAX_TRANSFORM_FEEDBACK_SEPARATE_COMPONENTS */, 4},
              {0x90D6 /* MAX_VERTEX_SHADER_STORAGE_BLOCKS */, 0},
              {0x90DA /* MAX_FRAGMENT_SHADER_STORAGE_BLOCKS */, 8},
              {0x90DE /* MAX_SHADER_STORAGE_BLOCK_SIZE */, MAX_STORAGE_BLOCK},
              {0x90DF /* SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT */, ALIGNMENT},
              {0x90EB /* MAX_COMPUTE_WORK_GROUP_INVOCATIONS */, 1024},
              {0x919F /* TEXTURE_BUFFER_OFFSET_ALIGNMENT */, ALIGNMENT}};

int programs = 0;       /* that were linked and are within the limits */
int refused = 0;        /* commands and programs that are not */
int divided = 0;        /* textures that begin within a buffer */
int refuse_all = 0;     /* whether no program links any more */
static unsigned failed; /* what glGetError tells next */

typedef void (*function)(void);

static struct {
    void (*GetIntegerv)(unsigned name, int *value);
    void (*GetInteger64v)(unsigned name, long long *value);
    const unsigned char *(*GetString)(unsigned name);
    unsigned (*GetError)(void);
    void (*GetShaderiv)(unsigned shader, unsigned name, int *value);
    void (*ShaderSource)(unsigned shader, int count, const char *const *text, const int *lengths);
    void (*GetProgramiv)(unsigned program, unsigned name, int *value);
    void (*GetProgramInfoLog)(unsigned program, int size, int *length, char *log);
    void (*GetProgramInterfaceiv)(unsigned program, unsigned interface, unsigned name, int *value);
    void (*GetProgramResourceiv)(unsigned program, unsigned interface, unsigned index, int names,
                                 const unsigned *name, int size, int *length, int *values);
    void (*BindBufferRange)(unsigned target, unsigned index, unsigned buffer, ptrdiff_t first,
                            ptrdiff_t size);
    void (*BindBuffer)(unsigned target, unsigned buffer);
    void (*BufferData)(unsigned target, ptrdiff_t size, const void *data, unsigned usage);
    void (*GetNamedBufferParameteriv)(unsigned buffer, unsigned name, int *value);
    void (*TexBuffer)(unsigned target, unsigned format, unsigned buffer);
    void (*TexBufferRange)(unsigned target, unsigned format, unsigned buffer, ptrdiff_t first,
                           ptrdiff_t size);
    void (*DispatchCompute)(unsigned x, unsigned y, unsigned z);
} gl;

static void refuse(void)
{
    refused++;
    failed = GL_INVALID_VALUE;
}

static void get_integerv(unsigned name, int *value)
{
    gl.GetIntegerv(name, value);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].name == name)
            *value = limits[i].value;
}

static void get_integer64v(unsigned name, long long *value)
{
    int granted = -1;
    gl.GetInteger64v(name, value);
    get_integerv(name, &granted);
    *value = granted < *value ? granted : *value;
}

static const unsigned char *get_string(unsigned name)
{
    return name == GL_VERSION    ? (const unsigned char *)"4.3.0 with the least of everything"
           : name == GL_RENDERER ? (const unsigned char *)"GPU"
                                 : gl.GetString(name);
}

static unsigned get_error(void)
{
    unsigned error = failed ? failed : gl.GetError();
    failed = 0;
    return error;
}

static void shader_source(unsigned shader, int count, const char *const *text, const int *lengths)
{
    static int written;
    const char *folder = getenv("MMDSKIN_TEST_SHADERS");
    char path[1024];
    int type = 0;
    gl.ShaderSource(shader, count, text, lengths);
    gl.GetShaderiv(shader, GL_SHADER_TYPE, &type);
    snprintf(path, sizeof path, "%s/%d.%s", folder ? folder : "", written++,
             type == GL_VERTEX_SHADER     ? "vert"
             : type == GL_FRAGMENT_SHADER ? "frag"
                                          : "comp");
    FILE *file = folder ? fopen(path, "w") : NULL;
    for (int i = 0; file && i < count; i++)
        fputs(text[i], file);
    if (file)
        fclose(file);
}

static int count(unsigned program, unsigned interface)
{
    int found = 0;
    gl.GetProgramInterfaceiv(program, interface, GL_ACTIVE_RESOURCES, &found);
    return found;
}

static unsigned property_of(unsigned program, unsigned interface, int index, unsigned name)
{
    int value = 0;
    gl.GetProgramResourceiv(program, interface, (unsigned)index, 1, &name, 1, NULL, &value);
    return (unsigned)value;
}

/* Compute and fragment shaders may have storage blocks, 8 in all; vertex shaders need not. */
static int has_too_many_storage_blocks(unsigned program, int *computes)
{
    int blocks = count(program, GL_SHADER_STORAGE_BLOCK), refused = blocks > 8;
    for (int i = 0; i < blocks; i++) {
        refused |=
            (int)property_of(program, GL_SHADER_STORAGE_BLOCK, i, GL_REFERENCED_BY_VERTEX_SHADER);
        *computes |=
            (int)property_of(program, GL_SHADER_STORAGE_BLOCK, i, GL_REFERENCED_BY_COMPUTE_SHADER);
    }
    return refused;
}

/* What the program has more of than is granted; NULL: nothing. */
static const char *excess(unsigned program)
{
    int group[3] = {0}, samplers = 0, computes = 0;
    if (has_too_many_storage_blocks(program, &computes))
        return "storage blocks";
    if (computes)
        gl.GetProgramiv(program, GL_COMPUTE_WORK_GROUP_SIZE, group);
    if (group[0] * group[1] * group[2] > 1024)
        return "invocations";
    if (count(program, GL_UNIFORM_BLOCK) > 12)
        return "uniform blocks";
    if (count(program, GL_PROGRAM_INPUT) > 16)
        return "attributes";
    for (int i = 0; i < count(program, GL_UNIFORM); i++) {
        unsigned type = property_of(program, GL_UNIFORM, i, GL_TYPE);
        samplers += (type >= GL_FIRST_SAMPLER && type <= GL_LAST_FLOAT_SAMPLER) ||
                    (type >= GL_FIRST_ARRAY_SAMPLER && type <= GL_LAST_SAMPLER);
    }
    if (samplers > 16)
        return "samplers";
    for (int i = 0; i < count(program, GL_TRANSFORM_FEEDBACK_VARYING); i++) {
        unsigned type = property_of(program, GL_TRANSFORM_FEEDBACK_VARYING, i, GL_TYPE);
        if (type != GL_FLOAT && (type < GL_FLOAT_VEC2 || type > GL_FLOAT_VEC4))
            return "components";
    }
    return NULL;
}

static void get_programiv(unsigned program, unsigned name, int *value)
{
    gl.GetProgramiv(program, name, value);
    if (name == GL_LINK_STATUS && *value) {
        *value = !refuse_all && !excess(program);
        programs += *value;
        refused += !*value;
    }
}

/* As NVIDIA's driver words it. */
static void get_program_info_log(unsigned program, int size, int *length, char *log)
{
    const char *what = excess(program);
    (void)length;
    snprintf(log, (size_t)size, "\nLink info\n---------\nerror: too many %s\nerror: (0) more\n",
             what ? what : "programs");
}

static void bind_buffer_range(unsigned target, unsigned index, unsigned buffer, ptrdiff_t first,
                              ptrdiff_t size)
{
    ptrdiff_t most = target == GL_SHADER_STORAGE_BUFFER ? MAX_STORAGE_BLOCK : MAX_UNIFORM_BLOCK;
    if (first % ALIGNMENT || size > most || index >= 8)
        refuse();
    else
        gl.BindBufferRange(target, index, buffer, first, size);
}

/* Buffers that are textures as a whole, which therefore may not grow. */
static struct {
    unsigned name;
    ptrdiff_t most;
} whole[64];
static unsigned bound; /* to GL_TEXTURE_BUFFER */

static ptrdiff_t max_bytes(unsigned format)
{
    return (ptrdiff_t)MAX_TEXELS * (format == GL_R32F || format == GL_R32I ? 4 : 16);
}

static void bind_buffer(unsigned target, unsigned buffer)
{
    if (target == GL_TEXTURE_BUFFER)
        bound = buffer;
    gl.BindBuffer(target, buffer);
}

static void buffer_data(unsigned target, ptrdiff_t size, const void *data, unsigned usage)
{
    for (size_t i = 0; target == GL_TEXTURE_BUFFER && i < sizeof whole / sizeof *whole; i++)
        if (whole[i].name == bound && bound && size > whole[i].most)
            refuse();
    gl.BufferData(target, size, data, usage);
}

static void tex_buffer(unsigned target, unsigned format, unsigned buffer)
{
    static size_t next;
    int size = 0;
    gl.GetNamedBufferParameteriv(buffer, GL_BUFFER_SIZE, &size);
    whole[next].name = buffer;
    whole[next++ % (sizeof whole / sizeof *whole)].most = max_bytes(format);
    if (size > max_bytes(format))
        refuse();
    gl.TexBuffer(target, format, buffer);
}

static void tex_buffer_range(unsigned target, unsigned format, unsigned buffer, ptrdiff_t first,
                             ptrdiff_t size)
{
    divided += first > 0;
    if (first % ALIGNMENT || size > max_bytes(format))
        refuse();
    else
        gl.TexBufferRange(target, format, buffer, first, size);
}

static void dispatch_compute(unsigned x, unsigned y, unsigned z)
{
    if (x > MAX_GROUPS || y > MAX_GROUPS || z > MAX_GROUPS)
        refuse();
    else
        gl.DispatchCompute(x, y, z);
}

static const struct {
    const char *name;
    function *real, ours;
} replaced[] = {
#define REPLACED(name, ours)                                                                       \
    {                                                                                              \
        "gl" #name, (function *)&gl.name, (function)ours                                           \
    }
    REPLACED(GetIntegerv, get_integerv),
    REPLACED(GetInteger64v, get_integer64v),
    REPLACED(GetString, get_string),
    REPLACED(GetError, get_error),
    REPLACED(ShaderSource, shader_source),
    REPLACED(GetProgramiv, get_programiv),
    REPLACED(GetProgramInfoLog, get_program_info_log),
    REPLACED(BindBufferRange, bind_buffer_range),
    REPLACED(BindBuffer, bind_buffer),
    REPLACED(BufferData, buffer_data),
    REPLACED(TexBuffer, tex_buffer),
    REPLACED(TexBufferRange, tex_buffer_range),
    REPLACED(DispatchCompute, dispatch_compute),
    /* Of later versions. */
    {"glBufferStorage", NULL, NULL},
    {"glGetGraphicsResetStatus", NULL, NULL}};

function eglGetProcAddress(const char *name)
{
    static function (*real)(const char *name);
    if (!real) {
        *(void **)&real = dlsym(RTLD_NEXT, "eglGetProcAddress");
        *(function *)&gl.GetShaderiv = real("glGetShaderiv");
        *(function *)&gl.GetProgramInterfaceiv = real("glGetProgramInterfaceiv");
        *(function *)&gl.GetProgramResourceiv = real("glGetProgramResourceiv");
        *(function *)&gl.GetNamedBufferParameteriv = real("glGetNamedBufferParameteriv");
    }
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
        if (strcmp(name, replaced[i].name) == 0) {
            if (replaced[i].real)
                *replaced[i].real = real(name);
            return replaced[i].ours;
        }
    return real(name);
}

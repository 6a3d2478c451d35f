/* SPDX-License-Identifier: MIT */
/* Compiles and links shaders. */
#include "gl/gl_context.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

/* The first line that says something: neither empty nor a heading, which a line of dashes follows.
 */
static const char *telling_line(const char *log)
{
    const char *found = NULL;
    while (*log) {
        size_t length = strcspn(log, "\r\n"), rule = strspn(log, "- \t");
        if (rule < length && found)
            break;
        if (rule < length)
            found = log;
        else if (length > 0)
            found = NULL;
        log += length + strspn(log + length, "\r\n");
    }
    return found ? found : "no log";
}

static bool fail_with_log(const char *what, const char *log, mmd_error *err)
{
    const char *line = telling_line(log);
    return mmd_gl_fail(err, "%s: %.*s", what, (int)strcspn(line, "\r\n"), line);
}

static GLuint compile(const char *header, const mmd_gl_stage *stage, mmd_error *err)
{
    const char *sources[] = {header, stage->sources[0], stage->sources[1], stage->sources[2]};
    char log[1024] = "";
    GLint ok = 0;
    GLuint shader = glCreateShader(stage->type);
    glShaderSource(shader, sizeof sources / sizeof *sources, sources, NULL);
    glCompileShader(shader);
    glGetShaderiv(shader, GL_COMPILE_STATUS, &ok);
    if (ok)
        return shader;
    glGetShaderInfoLog(shader, sizeof log, NULL, log);
    glDeleteShader(shader);
    fail_with_log("shader does not compile", log, err);
    return 0;
}

static bool link(GLuint program, mmd_error *err)
{
    char log[1024] = "";
    GLint ok = 0;
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &ok);
    if (ok)
        return true;
    glGetProgramInfoLog(program, sizeof log, NULL, log);
    return fail_with_log("program does not link", log, err);
}

GLuint mmd_gl_program_make(const mmd_gl_macro *macros, size_t integers, size_t floats,
                           const mmd_gl_stage *stages, size_t stage_count, mmd_error *err)
{
    char header[2048] = "#version 430 core\n";
    size_t used = strlen(header);
    for (size_t i = 0; i < integers + floats; i++) { /* by their bits: printf() may write a comma */
        float number = (float)macros[i].value;
        int32_t value = (int32_t)macros[i].value;
        if (i >= integers)
            memcpy(&value, &number, sizeof value);
        used +=
            (size_t)snprintf(header + used, sizeof header - used,
                             i < integers ? "#define %s %d\n" : "#define %s intBitsToFloat(%d)\n",
                             macros[i].name, (int)value);
    }
    GLuint program = glCreateProgram();
    bool compiled = true;
    for (size_t i = 0; compiled && i < stage_count; i++) {
        GLuint shader = compile(header, &stages[i], err);
        compiled = shader != 0;
        if (compiled)
            glAttachShader(program, shader);
        glDeleteShader(shader); /* once the program is deleted */
    }
    if (compiled && link(program, err))
        return program;
    glDeleteProgram(program);
    return 0;
}

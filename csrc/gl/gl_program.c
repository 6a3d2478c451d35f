/* SPDX-License-Identifier: MIT */
/* Compiles and links shaders. */
#include "gl/gl_context.h"

#include "core/base/error.h"

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

GLuint mmd_gl_program_compile(GLenum stage, const char *const *sources, GLsizei count,
                              mmd_error *err)
{
    char log[1024] = "";
    GLuint shader = glCreateShader(stage);
    glShaderSource(shader, count, sources, NULL);
    glCompileShader(shader);
    GLint ok = 0;
    glGetShaderiv(shader, GL_COMPILE_STATUS, &ok);
    if (ok)
        return shader;
    glGetShaderInfoLog(shader, sizeof log, NULL, log);
    glDeleteShader(shader);
    fail_with_log("shader does not compile", log, err);
    return 0;
}

bool mmd_gl_program_link(GLuint program, mmd_error *err)
{
    char log[1024] = "";
    glLinkProgram(program);
    GLint ok = 0;
    glGetProgramiv(program, GL_LINK_STATUS, &ok);
    if (ok)
        return true;
    glGetProgramInfoLog(program, sizeof log, NULL, log);
    return fail_with_log("program does not link", log, err);
}

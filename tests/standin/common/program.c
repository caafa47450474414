/* program.c - the part of a program that is the same for all vendors. See program.h. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kino/device.h>
#include <kino/kino.h>
#include <kino/record_function.h>

static int fail(const char *message)
{
    fprintf(stderr, "program: %s\n", message);
    return 1;
}

static int exit_early(const char *path)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_error error;
    options.exit_path = path;
    if (kino_prepare(&options, &error) != KINO_OK || kino_start(&error) != KINO_OK)
        return fail(error.message);
    scenes[0].play();
    exit(0);
}

static int record(const char *path, const char *name)
{
    kino_error error;
    const scene *scene = scenes;
    if (strcmp(name, "exit") == 0)
        return exit_early(path);
    while (scene->name && strcmp(scene->name, name) != 0)
        scene++;
    if (!scene->name)
        return fail("there is no such scene");
    if (kino_prepare(NULL, &error) != KINO_OK || kino_start(&error) != KINO_OK)
        return fail(error.message);
    kino_record_spans_enable(scene->has_functions);
    scene->play();
    if (kino_stop(&error) != KINO_OK || kino_save(path, &error) != KINO_OK)
        return fail(error.message);
    return 0;
}

int main(int argc, char **argv)
{
    kino_device_state state = {.size = sizeof state};
    int result = 2;
    for (int i = 1; i + 1 < argc; i += 2) {
        result = record(argv[i], argv[i + 1]);
        if (result)
            return result;
    }
    for (size_t i = 0; kino_device_get(i, &state) == KINO_OK; i++)
        printf("%s %s: %u devices, %llu activities, %llu lost%s%s\n", state.name, state.version,
               state.devices, (unsigned long long)state.activities, (unsigned long long)state.lost,
               state.error[0] ? ": " : "", state.error);
    if (is_attached() && !getenv("STANDIN_FAIL"))
        puts("still attached");
    return result;
}

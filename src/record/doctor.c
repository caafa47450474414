/* doctor.c - kino doctor: the list of items, and what checks share. See doctor.h. */
#include "record/doctor.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/byte_size.h"
#include "base/error.h"
#include "base/str.h"

const char *kino__doctor_state_text(kino__doctor_state state)
{
    static const char *const texts[] = {
#define STATE_TEXT(name, text) text,
        KINO__DOCTOR_STATE_MAP(STATE_TEXT)
#undef STATE_TEXT
    };
    return texts[state];
}

typedef struct group {
    const char *name, *heading;
    void (*look)(kino__doctor *doctor);
} group;

static const group groups[] = {
#define GROUP(name, heading) {#name, heading, kino__doctor_look_##name},
    KINO__DOCTOR_GROUP_MAP(GROUP)
#undef GROUP
};

const char *kino__doctor_group(size_t index, const char **name)
{
    bool is_there = index < sizeof groups / sizeof *groups;
    *name = is_there ? groups[index].name : NULL;
    return is_there ? groups[index].heading : NULL;
}

void kino__doctor_init(kino__doctor *doctor)
{
    *doctor = (kino__doctor){0};
    kino__arena_init(&doctor->arena, NULL);
}

void kino__doctor_deinit(kino__doctor *doctor)
{
    kino__vec_deinit(&doctor->items);
    kino__arena_deinit(&doctor->arena);
}

kino_status kino__doctor_run(kino__doctor *doctor, const char *name, kino_error *err)
{
    bool is_found = false;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (name && strcmp(name, groups[i].name) != 0)
            continue;
        is_found = true;
        doctor->group = groups[i].name;
        groups[i].look(doctor);
    }
    if (!is_found)
        return kino__fail(err, KINO_NOT_FOUND, "unknown group '%s' (see 'kino doctor --help')",
                          name);
    return doctor->failed ? kino__fail_nomem(err) : KINO_OK;
}

/* -- for checks -- */

void kino__doctor_add(kino__doctor *doctor, const kino__doctor_item *item)
{
    kino__doctor_item *slot = kino__vec_add(&doctor->items);
    if (!slot) {
        doctor->failed = true;
        return;
    }
    *slot = *item;
    if (!slot->group)
        slot->group = doctor->group;
}

const char *kino__doctor_text(kino__doctor *doctor, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kino_str kept = kino__arena_format(&doctor->arena, "%s", text);
    doctor->failed |= !kept.data;
    return kept.data ? kept.data : "";
}

bool kino__doctor_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    while (got > 0 && (text[got - 1] == '\n' || text[got - 1] == ' '))
        text[--got] = 0;
    return got > 0;
}

bool kino__doctor_read_int(const char *path, int64_t *out)
{
    char text[64];
    return kino__doctor_read(path, text, sizeof text) &&
           kino__str_to_int(kino__str_from(text), out);
}

bool kino__doctor_read_field(const char *path, const char *key, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    char line[512];
    size_t length = strlen(key);
    bool is_found = false;
    *text = 0;
    while (file && !is_found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, length) != 0 || !strchr(": \t", line[length]))
            continue;
        const char *value = line + length;
        value += strspn(value, ": \t");
        (void)snprintf(text, size, "%.*s", (int)strcspn(value, "\n"), value);
        is_found = true;
    }
    if (file)
        (void)fclose(file);
    return is_found;
}

const char *kino__doctor_variable(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody calls setenv here */
    return value && *value ? value : NULL;
}

const char *kino__doctor_bytes(kino__doctor *doctor, uint64_t bytes)
{
    double value = (double)bytes;
    const char *unit = kino__byte_unit(&value, 1000);
    bool is_whole = value >= 99.95 || unit[1] == '\0'; /* bytes have no fractions */
    return kino__doctor_text(doctor, "%.*f %s", !is_whole, value, unit);
}

/* communication.c - see the header. */
#include "names/communication.h"

#include <ctype.h>
#include <string.h>

#include "names/name_rule.h"

kino__comm kino__comm_of_kernel(kino_str name)
{
#define COMM_KERNEL(where, text, library)                                                          \
    if (kino__name_fits(name, KINO__NAME_##where, KINO__STR(text)))                                \
        return (kino__comm){KINO__COMM_CARRIES, KINO__COMM_##library};
#include "names/communication.def"
    return (kino__comm){KINO__COMM_NONE, KINO__COMM_UNKNOWN};
}

kino__comm kino__comm_of_span(kino_str name)
{
#define COMM_SPAN(where, text, kind, library)                                                      \
    if (kino__name_fits(name, KINO__NAME_##where, KINO__STR(text)))                                \
        return (kino__comm){KINO__COMM_##kind, KINO__COMM_##library};
#include "names/communication.def"
    return (kino__comm){KINO__COMM_NONE, KINO__COMM_UNKNOWN};
}

const char *kino__comm_library_name(kino__comm_library library)
{
    static const char *const names[KINO__COMM_LIBRARIES] = {
        "unknown",
#define COMM_LIBRARY(id, name, is_host) name,
#include "names/communication.def"
    };
    return names[library < KINO__COMM_LIBRARIES ? library : KINO__COMM_UNKNOWN];
}

bool kino__comm_library_is_host(kino__comm_library library)
{
    static const bool is_host_library[KINO__COMM_LIBRARIES] = {
        false,
#define COMM_LIBRARY(id, name, is_host) is_host,
#include "names/communication.def"
    };
    return library < KINO__COMM_LIBRARIES && is_host_library[library];
}

static const kino__comm_operation operations[] = {
#define OPERATION(part, name, factor) {part, name, KINO__BUS_##factor},
#include "names/operations.def"
#undef OPERATION
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

const kino__comm_operation *kino__comm_operation_of(kino_str text)
{
    enum { LONGEST = 256 };
    char plain[LONGEST];
    size_t size = 0;
    for (size_t i = 0; i < text.size && size < LONGEST; i++)
        if (text.data[i] != '_' && text.data[i] != ' ')
            plain[size++] = (char)tolower((unsigned char)text.data[i]);
    for (size_t i = 0; i < OPERATIONS; i++)
        if (memmem(plain, size, operations[i].part, strlen(operations[i].part)))
            return &operations[i];
    return NULL;
}

const kino__comm_operation *kino__comm_operation_find(kino_str name)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        if (kino__str_is(name, operations[i].name))
            return &operations[i];
    return NULL;
}

bool kino__comm_is_point_to_point(kino_str text)
{
    const kino__comm_operation *operation = kino__comm_operation_of(text);
    return operation &&
           (strncmp(operation->name, "send", 4) == 0 || strncmp(operation->name, "recv", 4) == 0);
}

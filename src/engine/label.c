/* label.c - which rank and worker a trace is of, from its file name. Labels only: they may be
 * missing or double. */
#include <ctype.h>
#include <strings.h>

#include "base/str.h"
#include "engine/kino_run.h"

enum { RANK_DIGITS = 6 }; /* more is a time or a process id */

/* The number behind `word` in the name: "rank3", "rank-3", "rank_3", "rank.3", "rank=3". */
static int64_t number_behind(kino_str name, kino_str word)
{
    for (size_t i = 0; i + word.size < name.size; i++) {
        if (i && isalpha((unsigned char)name.data[i - 1]))
            continue; /* "frank3" is a name */
        if (strncasecmp(name.data + i, word.data, word.size) != 0)
            continue;
        size_t at = i + word.size;
        if (at + 1 < name.size && strchr("-_.=", name.data[at]))
            at++;
        size_t digits = 0;
        while (at + digits < name.size && isdigit((unsigned char)name.data[at + digits]))
            digits++;
        int64_t value;
        if (digits && digits <= RANK_DIGITS &&
            kino__str_to_int((kino_str){name.data + at, digits}, &value))
            return value;
    }
    return KINO_NO_INT;
}

int64_t kino__rank_of_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    kino_str name = kino__str_from(slash ? slash + 1 : path);
    int64_t rank = number_behind(name, KINO__STR("rank"));
    return rank != KINO_NO_INT ? rank : number_behind(name, KINO__STR("worker"));
}

void kino__label_trace(kino__trace *trace, const char *worker, const char *span)
{
    bool may_be_rank = trace->role != KINO__PROCESS_LAUNCHER && trace->role != KINO__PROCESS_HELPER;
    if (may_be_rank && trace->rank == KINO_NO_INT && trace->path.size)
        trace->rank = kino__rank_of_name(trace->path.data);
    if (trace->worker.size == 0 && worker)
        trace->worker = kino__arena_copy(&trace->arena, kino__str_from(worker));
    if (trace->span.size == 0 && span)
        trace->span = kino__arena_copy(&trace->arena, kino__str_from(span));
}

/* hang.c - who is missing in a hang?
 *
 * Method: hang_stalls.h, on the flight-recorder dumps of all ranks (hang_facts.h).
 * Cost: the entries of all dumps, sorted once. */
#include <stdlib.h>

#include "analysis/hang/hang_stalls.h"
#include "base/error.h"

/* -- ranks in words -- */

/* "0-3, 7" of sorted ranks. */
static void add_ranks(kino__buffer *text, const kino__hang_ranks *ranks)
{
    for (size_t i = 0, last; i < ranks->count; i = last + 1) {
        for (last = i; last + 1 < ranks->count && ranks->items[last + 1] == ranks->items[last] + 1;)
            last++;
        if (last == i + 1)
            last = i;
        kino__buffer_printf(text, "%s%lld", i ? ", " : "", (long long)ranks->items[i]);
        if (last > i)
            kino__buffer_printf(text, "-%lld", (long long)ranks->items[last]);
    }
}

static void say_ranks(kino__buffer *text, const char *begin, const kino__hang_ranks *ranks)
{
    kino__buffer_printf(text, "%s%s ", begin, ranks->count == 1 ? "rank" : "ranks");
    add_ranks(text, ranks);
}

static void add_rank_cell(kino__table *table, const kino__hang_ranks *ranks)
{
    kino__buffer text = {0};
    add_ranks(&text, ranks);
    if (ranks->count)
        kino__table_add_text(table, kino__buffer_str(&text));
    else
        kino__table_add_null(table);
    kino__buffer_deinit(&text);
}

/* -- verdicts -- */

static const char *const causes[] = {
    [KINO__STALL_MISSING] = "missing",   [KINO__STALL_NO_DUMP] = "no dump",
    [KINO__STALL_MISMATCH] = "mismatch", [KINO__STALL_NOT_STARTED] = "not started",
    [KINO__STALL_STUCK] = "stuck",
};

static void say_operation(const kino__hang_facts *f, const kino__stall *s, kino__buffer *text)
{
    const kino__hang_group *g = kino__hang_group_of(f, s->group);
    kino_str description = kino__hang_text(f, g->description);
    kino__buffer_printf(text, "%.*s %lld", KINO__STR_ARG(kino__hang_text(f, s->operation)),
                        (long long)s->seq);
    if (s->from != KINO_NO_INT)
        kino__buffer_printf(text, " from rank %lld to rank %lld", (long long)s->from,
                            (long long)s->to);
    kino__buffer_printf(text, " of group %.*s", KINO__STR_ARG(kino__hang_text(f, s->group)));
    if (description.size)
        kino__buffer_printf(text, " (%.*s)", KINO__STR_ARG(description));
}

static void say_waiting(const kino__stall *s, kino__buffer *text)
{
    if (s->waiting.count == 0)
        return;
    say_ranks(text, "; ", &s->waiting);
    kino__buffer_printf(text, " %s", s->waiting.count == 1 ? "waits" : "wait");
}

/* What is missing of a send or receive is not what the other one issued. */
static const char *other_side(const kino__stall *s)
{
    if (s->from == KINO_NO_INT)
        return "";
    return s->culprits.items[0] == s->to ? "the receive for " : "the send for ";
}

static void say_cause(const kino__hang_facts *f, const kino__stall *s, kino__buffer *text)
{
    bool is_one = s->culprits.count == 1;
    switch (s->cause) {
    case KINO__STALL_MISSING:
        say_ranks(text, "", &s->culprits);
        kino__buffer_printf(text, " never issued %s", other_side(s));
        say_operation(f, s, text);
        break;
    case KINO__STALL_NO_DUMP:
        say_ranks(text, "", &s->culprits);
        kino__buffer_printf(text, " left no dump; the others are in ");
        say_operation(f, s, text);
        break;
    case KINO__STALL_MISMATCH:
        if (s->culprits.count && s->waiting.count) {
            say_ranks(text, "", &s->culprits);
            kino__buffer_printf(text, " issued another operation, size or type in place of ");
        } else {
            kino__buffer_printf(text, "ranks issued different operations, sizes or types as ");
        }
        say_operation(f, s, text);
        break;
    case KINO__STALL_NOT_STARTED:
        say_ranks(text, "the device of ", &s->culprits);
        kino__buffer_printf(text, " %s not started ", is_one ? "has" : "have");
        say_operation(f, s, text);
        break;
    case KINO__STALL_STUCK:
        kino__buffer_printf(text, "all ranks are in ");
        say_operation(f, s, text);
        kino__buffer_printf(text, ": suspect the network or a device");
        return;
    }
    say_waiting(s, text);
}

static void say_stall(const kino__hang_facts *f, const kino__stalls *all, const kino__stall *s,
                      kino__buffer *text)
{
    say_cause(f, s, text);
    if (s->caused_by == KINO__NO_STALL)
        return;
    kino__buffer_printf(text, s->is_cycle
                                  ? "; deadlock, as ranks issued operations of several groups in "
                                    "different orders: see "
                                  : "; a consequence of ");
    say_operation(f, &all->items.items[s->caused_by], text);
}

/* -- tables -- */

enum { STALLS, RANKS };

static const kino_column stall_columns[] = {
    {"group", KINO_TYPE_STRING, NULL, "process group"},
    {"operation", KINO_TYPE_STRING, NULL, "the first operation of the group that hangs"},
    {"seq", KINO_TYPE_INT, NULL, "its sequence number in the group"},
    {"cause", KINO_TYPE_STRING, NULL,
     "missing, no dump, mismatch, not started, or stuck (all are in it)"},
    {"culprits", KINO_TYPE_STRING, NULL, "ranks to look at first"},
    {"waiting", KINO_TYPE_STRING, NULL, "ranks that issued it and wait"},
    {"since", KINO_TYPE_TIME, NULL, "when the first rank issued it"},
    {"caused_by", KINO_TYPE_INT, NULL,
     "row (from 1) of the operation in which all culprits wait themselves"},
    {"source", KINO_TYPE_STRING, NULL, "line of the program that issued it"},
    {"verdict", KINO_TYPE_STRING, NULL, "the same in a sentence"},
    {0},
};

static const kino_column rank_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "from the name of the file"},
    {"group", KINO_TYPE_STRING, NULL, "process group"},
    {"entries", KINO_TYPE_INT, "count", "operations of the group in the dump"},
    {"first_seq", KINO_TYPE_INT, NULL, "the oldest that the ring still has"},
    {"last_seq", KINO_TYPE_INT, NULL, "the newest"},
    {"last_operation", KINO_TYPE_STRING, NULL, "the newest"},
    {"last_state", KINO_TYPE_STRING, NULL, "scheduled, started or completed"},
    {"last_issued", KINO_TYPE_TIME, NULL, "when the newest was issued"},
    {"source", KINO_TYPE_STRING, NULL, "line of the program that issued it"},
    {0},
};

static const kino_table_info tables[] = {
    {"hang", "one row per process group (or pair of ranks) that hangs, causes first", stall_columns,
     NULL, "no operation hangs"},
    {"hang_ranks", "one row per rank and process group", rank_columns, NULL,
     "not available: no flight-recorder dumps"},
    {0},
};

static void add_stalls(const kino__hang_facts *f, const kino__stalls *all, kino__table *table)
{
    for (size_t i = 0; i < all->items.count; i++) {
        const kino__stall *s = &all->items.items[i];
        kino__buffer verdict = {0};
        say_stall(f, all, s, &verdict);
        KINO__TABLE_ADD(table, kino__hang_text(f, s->group), kino__hang_text(f, s->operation),
                        s->seq, kino__str_from(causes[s->cause]));
        add_rank_cell(table, &s->culprits);
        add_rank_cell(table, &s->waiting);
        KINO__TABLE_ADD(table, s->since,
                        s->caused_by == KINO__NO_STALL ? KINO_NO_INT : s->caused_by + 1);
        if (kino__hang_text(f, s->source).size)
            kino__table_add_text(table, kino__hang_text(f, s->source));
        else
            kino__table_add_null(table);
        kino__table_add_text(table, kino__buffer_str(&verdict));
        kino__buffer_deinit(&verdict);
    }
}

typedef struct rank_line {
    int64_t rank, entries, first_seq;
    const kino__hang_entry *last;
} rank_line;

static int compare_lines(const void *a, const void *b)
{
    const rank_line *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->last->group < y->last->group ? -1 : x->last->group > y->last->group;
}

static void add_line(const kino__hang_facts *f, const rank_line *line, kino__table *table)
{
    static const char *const states[] = {"scheduled", "started", "completed"};
    const kino__hang_entry *last = line->last;
    KINO__TABLE_ADD(table, line->rank, kino__hang_text(f, last->group), line->entries,
                    line->first_seq, last->seq, kino__hang_text(f, last->operation),
                    kino__str_from(states[last->state]), last->created);
    if (kino__hang_text(f, last->source).size)
        kino__table_add_text(table, kino__hang_text(f, last->source));
    else
        kino__table_add_null(table);
}

typedef KINO__VEC(rank_line) rank_lines;

/* The line of an entry's group among those of its rank, which begin at `first`; NULL: no memory. */
static rank_line *find_line(rank_lines *lines, size_t first, const kino__hang_entry *e)
{
    for (size_t i = first; i < lines->count; i++)
        if (lines->items[i].last->group == e->group)
            return &lines->items[i];
    rank_line *line = kino__vec_add(lines);
    if (line)
        *line = (rank_line){e->rank, 0, e->seq, e};
    return line;
}

/* Entries of a rank stand together; groups are few. Sends and receives have numbers of their own. */
static bool add_lines(const kino__hang_facts *f, kino__table *table)
{
    rank_lines lines = {0};
    size_t first = 0; /* line of the rank */
    bool ok = true;
    for (size_t i = 0; i < f->entries.count && ok; i++) {
        const kino__hang_entry *e = &f->entries.items[i];
        if (e->from != KINO_NO_INT)
            continue;
        if (lines.count && lines.items[lines.count - 1].rank != e->rank)
            first = lines.count;
        rank_line *line = find_line(&lines, first, e);
        ok = line != NULL;
        if (!ok)
            break;
        line->entries++;
        line->first_seq = e->seq < line->first_seq ? e->seq : line->first_seq;
        line->last = e->created >= line->last->created ? e : line->last;
    }
    if (ok && lines.count)
        qsort(lines.items, lines.count, sizeof *lines.items, compare_lines);
    for (size_t i = 0; i < lines.count && ok; i++)
        add_line(f, &lines.items[i], table);
    kino__vec_deinit(&lines);
    return ok;
}

/* -- the answer -- */

static void add_notes(const kino__hang_facts *f, const kino__stalls *all, kino_result *result)
{
    if (f->dumps == 0)
        kino__result_lacks(result, "hangs",
                           ": no flight-recorder dumps (nccl_trace_rank_N, comm_lib_trace_rank_N)");
    if (f->unnamed)
        kino__result_note(result, "dumps left out because the file name contains no rank: %lld",
                          (long long)f->unnamed);
    if (f->repeated)
        kino__result_note(result, "dumps left out because another one is of the same rank: %lld",
                          (long long)f->repeated);
    if (all->ahead)
        kino__result_note(result,
                          "operations that some ranks completed and that are missing in dumps "
                          "of others, which were taken earlier: %llu",
                          (unsigned long long)all->ahead);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a;
    const kino__hang_facts *f = value;
    kino__stalls all;
    bool ok = kino__stalls_find(f, &all) && add_lines(f, kino__analysis_table(result, RANKS));
    if (ok) {
        add_stalls(f, &all, kino__analysis_table(result, STALLS));
        add_notes(f, &all, result);
    }
    kino__stalls_deinit(&all);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_hang = {
    .name = "hang",
    .help = "which rank a hanging collective waits for, from flight-recorder dumps",
    .description =
        "Matches collectives in the flight-recorder dumps of all ranks by process group\n"
        "and sequence number, and finds the first in each group that has not ended: who\n"
        "never issued it, issued something else, or has not started it, and who waits.\n",
    .tables = tables,
    .grows = true,
    .partial_size = sizeof(kino__hang_facts),
    .map = kino__hang_map,
    .merge = kino__hang_merge,
    .finish = finish,
    .pack = kino__hang_pack,
    .deinit = kino__hang_deinit,
};

/* completeness_loss.c - what kino's own recorder says it could not keep: its key "kino_loss", with
 * a number for each reason, of all threads and of those that lost something. */
#include "analysis/completeness/completeness_internal.h"
#include "store/args.h"

enum { THREADS_MAX = 100000 };

typedef struct reason {
    const char *key; /* in the trace */
    const char *meaning;
    kino__finding_id finding;
} reason;

static const reason reasons[] = {
    {"buffer_full", "events: the buffer was full", KINO__FINDING_PROFILER_DROPPED},
    {"too_many_threads", "events of threads that started when there was no room for more",
     KINO__FINDING_PROFILER_DROPPED},
    {"late", "ends and arguments that arrived after their span was overwritten",
     KINO__FINDING_PARTS_LOST},
    {"text_cut", "texts of arguments that were too long", KINO__FINDING_PARTS_LOST},
    {"texts_full", "names that did not fit: shown as (name lost)", KINO__FINDING_PARTS_LOST},
    {"damaged", "invalid records", KINO__FINDING_BAD_RECORDS},
    {"ended_without_stop", "the process ended during the recording", KINO__FINDING_NOT_STOPPED},
    {"open_spans", "open spans: shown until the end of the recording", KINO__FINDING_OPEN_SPANS},
    {"overwritten", "flight recorder records that were overwritten by newer ones",
     KINO__FINDING_OVERWRITTEN},
};
enum { REASONS = sizeof reasons / sizeof *reasons };

static int64_t count_of(kino_str object, const char *key)
{
    kino_str value = kino__args_find(object, kino__str_from(key));
    int64_t count;
    if (kino__str_is(value, "true"))
        return 1;
    return kino__json_to_int(value, &count) && count > 0 ? count : 0;
}

static bool add_rows(const kino__trace *trace, kino_str object, int64_t tid, kino__losses *out)
{
    for (uint32_t i = 0; i < REASONS; i++) {
        int64_t count = count_of(object, reasons[i].key);
        kino__loss *loss = count ? kino__vec_add(out) : NULL;
        if (count && !loss)
            return false;
        if (loss)
            *loss = (kino__loss){trace->index, trace->rank, tid, count, i};
    }
    return true;
}

bool kino__completeness_losses(const kino__trace *trace, kino__losses *out)
{
    kino_str loss = kino__trace_metadata(trace, "kino_loss");
    kino_str threads = kino__args_find(loss, KINO__STR("threads")), object;
    if (!loss.size)
        return true;
    bool ok = add_rows(trace, loss, KINO_NO_INT, out);
    for (size_t i = 0; ok && i < THREADS_MAX && kino__json_object_at(threads, i, &object); i++)
        ok = add_rows(trace, object, kino__args_int(object, "tid"), out);
    return ok;
}

/* A trace of others says nothing of all this, which is as good as none; but what was dropped is
 * then not known. */
void kino__completeness_recorder(const kino__trace *trace, kino__check_finding *findings)
{
    kino_str loss = kino__trace_metadata(trace, "kino_loss");
    kino__check_finding *dropped = &findings[KINO__FINDING_PROFILER_DROPPED];
    if (!loss.size)
        return;
    if (dropped->count == KINO_NO_INT)
        *dropped = (kino__check_finding){.of = KINO_NO_INT};
    for (uint32_t i = 0; i < REASONS; i++) {
        kino__check_finding *f = &findings[reasons[i].finding];
        f->count = kino__sum(f->count, count_of(loss, reasons[i].key));
    }
}

/* -- the table -- */

enum { C_RANK, C_TRACE, C_THREAD, C_REASON, C_COUNT, C_MEANING };

const kino_column kino__loss_columns[] = {
    [C_RANK] = {"rank", KINO_TYPE_INT, NULL, NULL},
    [C_TRACE] = {"trace", KINO_TYPE_INT, NULL, "index of the trace in the run"},
    [C_THREAD] = {"thread", KINO_TYPE_INT, NULL, "null: all threads combined"},
    [C_REASON] = {"reason", KINO_TYPE_STRING, NULL, "as in kino_loss of the trace"},
    [C_COUNT] = {"count", KINO_TYPE_INT, "count", "how many"},
    [C_MEANING] = {"meaning", KINO_TYPE_STRING, NULL, NULL},
    {0},
};

void kino__losses_fill(kino__table *table, const kino__losses *losses, bool is_one_trace)
{
    if (!table)
        return;
    kino__table_describe(table, losses->count ? 0 : KINO__TABLE_QUIET, "Losses of the recorder",
                         "none");
    for (size_t i = 0; i < losses->count; i++) {
        const kino__loss *loss = &losses->items[i];
        bool is_known = loss->reason < REASONS; /* saved ones may be damaged */
        KINO__TABLE_ADD(table, loss->rank, loss->trace, loss->tid,
                        kino__str_from(is_known ? reasons[loss->reason].key : ""), loss->count,
                        kino__str_from(is_known ? reasons[loss->reason].meaning : ""));
    }
    table->optional = 1u << C_RANK | 1u << C_THREAD;
    table->hidden = is_one_trace ? 1u << C_TRACE : 0;
}

/* merge_plan.c - which pid and which ids every trace gets in a merged one. */
#include <inttypes.h>

#include "base/error.h"
#include "transform/merge.h"

/* More than a pid of Linux. */
#define PID_STRIDE INT64_C(10000000)

/* -- pids */

const kino__merge_pid *kino__merge_find_pid(const kino__merge_source *source,
                                            const kino__label *pid)
{
    for (uint64_t key = kino__label_hash(pid);; key++) {
        const uint32_t *at = kino__map_get(&source->by_pid, key);
        if (!at)
            return NULL;
        if (kino__label_equal(&source->pids.items[*at].old, pid))
            return &source->pids.items[*at];
    }
}

/* The pids that earlier traces have. */
typedef struct taken {
    kino__map numbers;
    kino__string_pool texts;
    bool failed;
} taken;

static bool take_number(taken *t, int64_t number)
{
    size_t before = t->numbers.count;
    t->failed |= !kino__map_put(&t->numbers, (uint64_t)number, 1);
    return t->numbers.count > before;
}

static bool take_text(taken *t, kino_str text)
{
    size_t before = kino__string_pool_count(&t->texts);
    t->failed |= kino__string_pool_add(&t->texts, text) == KINO_NO_STRING;
    return kino__string_pool_count(&t->texts) > before;
}

/* The number itself, else one that shows both it and the trace. */
static int64_t free_number(const kino__merge *m, taken *t, int64_t number, size_t index)
{
    int64_t wish = number, offset = (int64_t)(index ? index : m->count) * PID_STRIDE;
    if (take_number(t, wish))
        return wish;
    if (__builtin_add_overflow(wish, offset, &wish))
        wish = offset;
    while (!t->failed && !take_number(t, wish))
        wish = wish == INT64_MAX ? 1 : wish + 1;
    return wish;
}

static kino_str free_text(kino__merge *m, taken *t, kino_str text, const char *title)
{
    kino_str wish = text;
    for (unsigned n = 1; !t->failed && !take_text(t, wish); n++) {
        wish = n == 1
                   ? kino__arena_format(&m->arena, "%.*s (%s)", KINO__STR_ARG(text), title)
                   : kino__arena_format(&m->arena, "%.*s (%s, %u)", KINO__STR_ARG(text), title, n);
        t->failed |= !wish.data;
    }
    return wish;
}

static void add_pid(kino__merge *m, taken *t, size_t index, const kino__label *pid)
{
    kino__merge_source *source = &m->sources[index];
    if (kino__merge_find_pid(source, pid))
        return;
    kino__merge_pid entry = {.old = *pid, .now = *pid};
    bool is_odd = pid->kind == KINO__LABEL_NONE || pid->kind == KINO__LABEL_RAW;
    if (m->is_one_process) {
        if (pid->kind == KINO__LABEL_TEXT)
            entry.text = kino__trace_string(source->trace, pid->text);
    } else if (pid->kind == KINO__LABEL_INT) {
        entry.now.number = free_number(m, t, pid->number, index);
    } else if (pid->kind == KINO__LABEL_TEXT) {
        entry.text = free_text(m, t, kino__trace_string(source->trace, pid->text), source->title);
    } else if (is_odd && index > 0) {
        entry.now = (kino__label){.kind = KINO__LABEL_INT,
                                  .number = free_number(m, t, (int64_t)index * PID_STRIDE, index)};
    }
    uint64_t key = kino__label_hash(pid);
    while (kino__map_get(&source->by_pid, key))
        key++;
    kino__merge_pid *slot = kino__vec_add(&source->pids);
    uint32_t *at = kino__map_put(&source->by_pid, key, (uint32_t)(source->pids.count - 1));
    t->failed |= !slot || !at;
    if (slot)
        *slot = entry;
}

/* Has the track anything but names? */
static bool has_events(const kino__trace *trace, const kino__track *track)
{
    for (uint32_t row = track->first; row - track->first < track->count; row++)
        if (trace->phase[row] != 'M')
            return true;
    return false;
}

/* Processes that have events choose first: Kineto names every device that a machine could have, and
 * pids of devices are their numbers. */
static kino_status choose_pids(kino__merge *m, kino_error *err)
{
    taken t = {0};
    kino__map_init(&t.numbers, NULL);
    kino__string_pool_init(&t.texts, NULL);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < m->count; i++) {
            const kino__trace *trace = m->sources[i].trace;
            for (size_t k = 0; k < trace->tracks.count && !t.failed; k++)
                if (pass == 1 || has_events(trace, &trace->tracks.items[k]))
                    add_pid(m, &t, i, &trace->tracks.items[k].pid);
        }
    }
    kino__map_deinit(&t.numbers);
    kino__string_pool_deinit(&t.texts);
    return t.failed ? kino__fail_nomem(err) : KINO_OK;
}

/* -- ids */

/* The power of ten above every id of all traces. */
static kino_status choose_stride(const kino__merge *m, bool is_external, int64_t *stride,
                                 kino_error *err)
{
    int64_t most = 0;
    for (size_t i = 0; i < m->count; i++) {
        const kino__trace *trace = m->sources[i].trace;
        for (uint32_t row = 0; row < trace->event_count; row++) {
            bool is_text = trace->flags[row] & KINO__FLAG_ID_TEXT;
            int64_t id = is_external ? kino__trace_external(trace, row)
                         : is_text   ? 0
                         : kino__phase_has_id(trace->phase[row])
                             ? kino__trace_bind_id(trace, row)
                             : kino__trace_correlation(trace, row);
            if (id > most && id <= KINO__DERIVE_MOST_ID)
                most = id;
        }
    }
    *stride = 1;
    while (*stride <= most)
        *stride *= 10;
    int64_t last;
    if (__builtin_mul_overflow(*stride, (int64_t)m->count, &last))
        return kino__fail(err, KINO_LIMIT,
                          "ids up to %" PRId64 " cannot be made unique in one file", most);
    return KINO_OK;
}

static kino_status choose_ids(kino__merge *m, kino_error *err)
{
    int64_t bind, external;
    KINO_TRY(choose_stride(m, false, &bind, err));
    KINO_TRY(choose_stride(m, true, &external, err));
    for (size_t i = 0; i < m->count; i++) {
        m->sources[i].bind_offset = (int64_t)i * bind;
        m->sources[i].external_offset = (int64_t)i * external;
        m->sources[i].arg_offset = (int64_t)i * KINO__MERGE_ARG_STRIDE;
    }
    return KINO_OK;
}

kino_status kino__merge_plan(kino__merge *m, kino_error *err)
{
    KINO_TRY(choose_pids(m, err));
    return choose_ids(m, err);
}

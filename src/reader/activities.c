/* activities.c - events in Kineto's words, their rows and their arguments. */
#include "reader/activities.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "store/describe.h"

enum {
    GROUPS_MOST = 1 << 16, /* that are kept once; others are written out */
    EVENT_BYTES = 52,
    CHECK_EVERY = 1 << 12,
    PROGRESS_ROWS = 1 << 13,
    NO_STREAM = -1,
};
#define TIME_MOST (INT64_C(1) << 62)

/* -- life -- */

static uint16_t category_of(kino__activities *a, const char *text)
{
    return kino__event_builder_category(&a->events, kino__activities_text(a, kino__str_from(text)));
}

uint16_t kino__activities_category(kino__activities *a, const char *text)
{
    return category_of(a, text);
}

void kino__activities_init(kino__activities *a, const kino__sqlite *db,
                           const kino__load_context *context)
{
    static const char *const texts[] = {
#define KEY_TEXT(name, text) text,
        KINO__ACTIVITY_KEY_MAP(KEY_TEXT)
#undef KEY_TEXT
    };
    *a = (kino__activities){.ledger = db->ledger,
                            .most = kino__load_most(context, db->size, KINO__COLUMN_RATIO),
                            .progress = context->progress,
                            .last_row = UINT32_MAX,
                            .last_process = UINT32_MAX,
                            .last_end = INT64_MIN};
    kino__event_builder_init(&a->events, NULL);
    kino__event_args_init(&a->args, NULL);
    kino__map_init(&a->row_of, NULL);
    kino__map_init(&a->group_of, NULL);
    kino__map_init(&a->process_of, NULL);
    for (int i = 0; i < KINO__KEY_COUNT; i++)
        a->keys[i] = kino__activities_text(a, kino__str_from(texts[i]));
    kino__event_args_set_ids(&a->args, a->keys[KINO__KEY_CORRELATION], a->keys[KINO__KEY_EXTERNAL]);
    a->kernel = category_of(a, "kernel");
    a->runtime = category_of(a, "cuda_runtime");
    a->driver = category_of(a, "cuda_driver");
    a->memcpy = category_of(a, "gpu_memcpy");
    a->memset = category_of(a, "gpu_memset");
    a->sync = category_of(a, "cuda_sync");
    a->event = category_of(a, "cuda_event");
    a->annotation = category_of(a, "user_annotation");
    a->op = category_of(a, "cpu_op");
    a->overhead = category_of(a, "overhead");
}

void kino__activities_deinit(kino__activities *a)
{
    kino__event_builder_deinit(&a->events);
    kino__event_args_deinit(&a->args);
    kino__map_deinit(&a->row_of);
    kino__map_deinit(&a->group_of);
    kino__map_deinit(&a->process_of);
    kino__vec_deinit(&a->limits);
    kino__vec_deinit(&a->processes);
    kino__vec_deinit(&a->rows);
    kino__vec_deinit(&a->groups);
    kino__vec_deinit(&a->words);
}

bool kino__activities_failed(const kino__activities *a)
{
    return a->is_over || a->events.part.failed || a->args.bytes.failed;
}

bool kino__activities_next(kino__activities *a, kino__sqlite_scan *scan)
{
    if (++a->read % PROGRESS_ROWS == 0)
        a->is_cancelled |= !kino__progress_add(a->progress, PROGRESS_ROWS);
    if (a->is_cancelled || kino__activities_failed(a))
        return false;
    if (kino__sqlite_next(&scan->rows))
        return true;
    a->events.part.failed |= scan->rows.whole.failed;
    return false;
}

/* Takes what is out of proportion to the file for what it is, now and then. */
static void check_size(kino__activities *a)
{
    uint32_t count = kino__event_builder_count(&a->events);
    if (count % CHECK_EVERY == 0)
        a->is_over |= (uint64_t)count * EVENT_BYTES + a->args.bytes.size > a->most;
}

/* -- processes -- */

static kino__activity_process *process_of(kino__activities *a, uint64_t key)
{
    if (a->last_process != UINT32_MAX && a->processes.items[a->last_process].key == key)
        return &a->processes.items[a->last_process];
    uint32_t *at = kino__map_put(&a->process_of, key, UINT32_MAX);
    if (at && *at == UINT32_MAX) {
        kino__activity_process *fresh = kino__vec_add(&a->processes);
        if (fresh) {
            *fresh = (kino__activity_process){.key = key};
            *at = (uint32_t)a->processes.count - 1;
        }
    }
    if (!at || *at == UINT32_MAX) {
        a->events.part.failed = true;
        return NULL;
    }
    return &a->processes.items[a->last_process = *at];
}

void kino__activities_see(kino__activities *a, uint64_t process, int64_t correlation)
{
    kino__activity_process *p = process_of(a, process);
    if (p && correlation > p->most && correlation < TIME_MOST)
        p->most = correlation;
}

void kino__activities_settle(kino__activities *a)
{
    int64_t offset = 0;
    for (size_t i = 0; i < a->processes.count; i++) {
        a->processes.items[i].offset = offset;
        if (__builtin_add_overflow(offset, a->processes.items[i].most, &offset) ||
            offset > TIME_MOST)
            offset = 0;
    }
}

/* The correlation that no other process has; KINO_NO_INT: none. */
static int64_t own_correlation(kino__activities *a, uint64_t process, int64_t correlation)
{
    if (correlation <= 0 || correlation >= TIME_MOST)
        return KINO_NO_INT;
    const kino__activity_process *p = process_of(a, process);
    return p ? correlation + p->offset : KINO_NO_INT;
}

/* -- arguments -- */

static void add_arg(kino__activities *a, kino__activity_key key, kino__arg_type type,
                    uint64_t value)
{
    kino__event_args_add(&a->args, a->keys[key], type, value);
}

void kino__activities_arg(kino__activities *a, kino__activity_key key, int64_t value)
{
    if (value != KINO_NO_INT)
        add_arg(a, key, KINO__ARG_INT, (uint64_t)value);
}

void kino__activities_arg_text(kino__activities *a, kino__activity_key key, kino_str text)
{
    kino_strid id = kino__activities_text(a, text);
    if (id != KINO_NO_STRING)
        add_arg(a, key, KINO__ARG_TEXT, id);
}

void kino__activities_arg_json(kino__activities *a, kino__activity_key key, kino_str json)
{
    kino_strid id = kino__activities_text(a, json);
    if (id != KINO_NO_STRING)
        add_arg(a, key, KINO__ARG_JSON, id);
}

void kino__activities_arg_real(kino__activities *a, kino__activity_key key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_arg(a, key, KINO__ARG_DOUBLE, bits);
}

static void add_triple(kino__activities *a, kino__activity_key key, const int64_t v[3])
{
    char text[80];
    if (v[0] == KINO_NO_INT || v[1] == KINO_NO_INT || v[2] == KINO_NO_INT)
        return;
    int size =
        snprintf(text, sizeof text, "[%" PRId64 ", %" PRId64 ", %" PRId64 "]", v[0], v[1], v[2]);
    kino__activities_arg_json(a, key, (kino_str){text, (size_t)size});
}

/* -- arguments that many events have -- */

enum {
    WORD_PROCESS,
    WORD_DEVICE,
    WORD_CONTEXT,
    WORD_STREAM,
    WORD_GRAPH,
    WORD_GRAPH_EXEC,
    WORD_GRAPH_NODE,
    WORD_EXTERNAL,
    WORD_SHORT_NAME,
    WORD_REGISTERS,
    WORD_STATIC_SHARED,
    WORD_DYNAMIC_SHARED,
    WORD_GRID,
    WORD_BLOCK = WORD_GRID + 3,
    WORDS = WORD_BLOCK + 3,
};

static const kino__cuda_limits *limits_of(const kino__activities *a, int64_t device)
{
    static const kino__cuda_limits unknown;
    for (size_t i = 0; i < a->limits.count; i++)
        if (a->limits.items[i].device == device)
            return &a->limits.items[i].cuda;
    return &unknown;
}

static bool are_plausible(const int64_t v[3])
{
    const int64_t most = INT64_C(1) << 31;
    return v[0] > 0 && v[1] > 0 && v[2] > 0 && v[0] <= most && v[1] <= most && v[2] <= most;
}

static int32_t narrow(int64_t value)
{
    return value < 0 ? 0 : value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

/* As Kineto counts them, in floats. */
static void add_load(kino__activities *a, const int64_t *w)
{
    const kino__cuda_limits *limits = limits_of(a, w[WORD_DEVICE]);
    const int64_t *grid = w + WORD_GRID, *block = w + WORD_BLOCK;
    if (limits->sm_count <= 0 || !are_plausible(grid) || !are_plausible(block))
        return;
    float threads = (float)block[0] * (float)block[1] * (float)block[2];
    float blocks = (float)grid[0] * (float)grid[1] * (float)grid[2] / (float)limits->sm_count;
    kino__activities_arg_real(a, KINO__KEY_BLOCKS, (double)blocks);
    kino__activities_arg_real(a, KINO__KEY_WARPS, (double)(blocks * threads / 32));
    if (threads > 1024 || w[WORD_REGISTERS] == KINO_NO_INT)
        return;
    kino__cuda_launch launch = {(int32_t)threads, narrow(w[WORD_REGISTERS]),
                                narrow(w[WORD_STATIC_SHARED]), narrow(w[WORD_DYNAMIC_SHARED])};
    kino__occupancy occupancy = kino__cuda_occupancy(limits, &launch);
    if (occupancy.is_known)
        kino__activities_arg(
            a, KINO__KEY_OCCUPANCY,
            kino__cuda_achieved_percent(&occupancy, limits, blocks, launch.threads));
}

static void add_words(kino__activities *a, const int64_t *w)
{
    kino__activities_arg(a, KINO__KEY_EXTERNAL, w[WORD_EXTERNAL]);
    kino__activities_arg(a, KINO__KEY_DEVICE, w[WORD_DEVICE]);
    kino__activities_arg(a, KINO__KEY_CONTEXT, w[WORD_CONTEXT]);
    kino__activities_arg(a, KINO__KEY_STREAM, w[WORD_STREAM]);
    kino__activities_arg(a, KINO__KEY_REGISTERS, w[WORD_REGISTERS]);
    if (w[WORD_STATIC_SHARED] != KINO_NO_INT || w[WORD_DYNAMIC_SHARED] != KINO_NO_INT) {
        uint64_t fixed = w[WORD_STATIC_SHARED] > 0 ? (uint64_t)w[WORD_STATIC_SHARED] : 0;
        uint64_t dynamic = w[WORD_DYNAMIC_SHARED] > 0 ? (uint64_t)w[WORD_DYNAMIC_SHARED] : 0;
        add_arg(a, KINO__KEY_SHARED, KINO__ARG_UINT, fixed + dynamic);
    }
    add_load(a, w);
    add_triple(a, KINO__KEY_GRID, w + WORD_GRID);
    add_triple(a, KINO__KEY_BLOCK, w + WORD_BLOCK);
    kino__activities_arg(a, KINO__KEY_GRAPH, w[WORD_GRAPH]);
    kino__activities_arg(a, KINO__KEY_GRAPH_EXEC, w[WORD_GRAPH_EXEC]);
    kino__activities_arg(a, KINO__KEY_GRAPH_NODE, w[WORD_GRAPH_NODE]);
    if (w[WORD_SHORT_NAME] != KINO_NO_INT)
        add_arg(a, KINO__KEY_SHORT_NAME, KINO__ARG_TEXT, (uint64_t)w[WORD_SHORT_NAME]);
}

/* The place of arguments that are kept once; 0: there are too many, they wait for the event. */
static uint64_t share_words(kino__activities *a, const int64_t *w)
{
    uint64_t hash = kino__hash_bytes(w, WORDS * sizeof *w);
    uint32_t *at = a->groups.count < GROUPS_MOST ? kino__map_put(&a->group_of, hash, UINT32_MAX)
                                                 : kino__map_get(&a->group_of, hash);
    if (at && *at != UINT32_MAX) {
        const kino__activity_group *g = &a->groups.items[*at];
        if (memcmp(a->words.items + g->words, w, WORDS * sizeof *w) == 0)
            return g->place;
    }
    add_words(a, w);
    if (!at || *at != UINT32_MAX)
        return 0;
    kino__activity_group *g = kino__vec_add(&a->groups);
    if (!g || !kino__vec_reserve(&a->words, WORDS)) {
        a->events.part.failed = true;
        return 0;
    }
    *at = (uint32_t)a->groups.count - 1;
    *g = (kino__activity_group){hash, kino__event_args_share(&a->args), a->words.count};
    memcpy(a->words.items + a->words.count, w, WORDS * sizeof *w);
    a->words.count += WORDS;
    return g->place;
}

static void fill_work(int64_t *w, const kino__gpu_activity *work)
{
    for (int i = 0; i < WORDS; i++)
        w[i] = KINO_NO_INT;
    w[WORD_DEVICE] = work->device;
    w[WORD_CONTEXT] = work->context;
    w[WORD_STREAM] = work->stream;
    w[WORD_GRAPH] = work->graph;
    w[WORD_GRAPH_EXEC] = work->graph_exec;
    w[WORD_GRAPH_NODE] = work->graph_node;
    w[WORD_EXTERNAL] = work->external;
}

/* -- rows -- */

static bool is_row(const kino__activity_row *row, const kino__activity_row *wanted)
{
    return row->process == wanted->process && row->device == wanted->device &&
           row->number == wanted->number && row->is_sync == wanted->is_sync;
}

static kino__label int_label(int64_t number)
{
    return (kino__label){KINO__LABEL_INT, KINO_NO_STRING, number};
}

static kino__label text_label(kino__activities *a, const char *text)
{
    kino_strid id = kino__activities_text(a, kino__str_from(text));
    return (kino__label){id == KINO_NO_STRING ? KINO__LABEL_NONE : KINO__LABEL_TEXT, id, 0};
}

/* Is there a row with the same labels, of another process? */
static bool is_taken(const kino__activities *a, const kino__activity_row *wanted)
{
    for (size_t i = 0; i < a->rows.count; i++) {
        const kino__activity_row *row = &a->rows.items[i];
        if (row->process != wanted->process && row->device == wanted->device &&
            row->number == wanted->number && row->is_sync == wanted->is_sync)
            return true;
    }
    return false;
}

/* Kineto's labels: the device and the stream, and a row of its own for waits on it. A second
 * process that uses the same stream of the device has rows of its own. */
static uint32_t make_device_track(kino__activities *a, const kino__activity_row *row)
{
    char text[96];
    kino__label thread = int_label(row->is_sync ? row->number + 1000000 : row->number);
    if (row->number == NO_STREAM)
        thread = text_label(a, "sync");
    if (is_taken(a, row)) {
        (void)snprintf(text, sizeof text, "stream %" PRId64 "%s of process %" PRIu64, row->number,
                       row->is_sync ? " (waits)" : "", row->process & 0xffffff);
        thread = text_label(a, text);
    }
    kino__label device = row->device == KINO_NO_INT ? (kino__label){.kind = KINO__LABEL_NONE}
                                                    : int_label(row->device);
    if (device.kind == KINO__LABEL_NONE)
        device.text = KINO_NO_STRING;
    return kino__event_builder_track(&a->events, device, thread);
}

/* The track of a row, made when new. `pid` is a thread's process. */
static uint32_t track_of(kino__activities *a, const kino__activity_row *wanted, int64_t pid)
{
    if (a->last_row != UINT32_MAX && is_row(&a->rows.items[a->last_row], wanted))
        return a->rows.items[a->last_row].track;
    uint64_t key = kino__hash_u64(wanted->process) * 31 +
                   kino__hash_u64((uint64_t)wanted->device ^ (uint64_t)wanted->is_sync << 62) * 17 +
                   (uint64_t)wanted->number;
    for (;; key++) {
        uint32_t *at = a->events.part.failed ? NULL : kino__map_put(&a->row_of, key, UINT32_MAX);
        if (at && *at != UINT32_MAX && is_row(&a->rows.items[*at], wanted))
            return a->rows.items[a->last_row = *at].track;
        if (at && *at != UINT32_MAX)
            continue;
        kino__activity_row row = *wanted;
        if (at)
            row.track = wanted->device == KINO_NO_INT && pid != KINO_NO_INT
                            ? kino__event_builder_track(&a->events, int_label(pid),
                                                        int_label(wanted->number))
                            : make_device_track(a, wanted);
        kino__activity_row *slot = at ? kino__vec_add(&a->rows) : NULL;
        a->events.part.failed |= !slot;
        if (!slot)
            return 0;
        *slot = row;
        a->last_row = *at = (uint32_t)a->rows.count - 1;
        return row.track;
    }
}

static uint32_t device_track(kino__activities *a, const kino__gpu_activity *work, bool is_sync)
{
    kino__activity_row row = {.process = work->process,
                              .device = work->device,
                              .number = work->stream == KINO_NO_INT ? NO_STREAM : work->stream,
                              .is_sync = is_sync};
    if (row.device == KINO_NO_INT)
        row.device = 0;
    return track_of(a, &row, KINO_NO_INT);
}

static uint32_t thread_track(kino__activities *a, const kino__thread_span *span)
{
    kino__activity_row row = {.process = span->process, .device = KINO_NO_INT, .number = span->tid};
    return track_of(a, &row, span->pid);
}

/* -- events -- */

static bool is_time(int64_t t)
{
    return t != KINO_NO_INT && t > -TIME_MOST && t < TIME_MOST;
}

/* The end of a span, or its start where there is no sound end. False: it has no start. */
static bool check_times(kino__activities *a, int64_t start, int64_t *end)
{
    check_size(a);
    if (kino__activities_failed(a) || !is_time(start)) {
        kino__event_args_drop(&a->args);
        if (!kino__activities_failed(a))
            kino__ledger_add(a->ledger, KINO__DAMAGE_NO_TIME, 0);
        return false;
    }
    if (!is_time(*end) || *end < start) {
        kino__ledger_add(a->ledger, KINO__DAMAGE_BAD_DURATION, 0);
        *end = start;
    }
    if (*end > a->last_end)
        a->last_end = *end;
    return true;
}

static void add_work(kino__activities *a, const kino__gpu_activity *work, uint64_t shared,
                     kino_strid name, uint16_t category)
{
    int64_t correlation = own_correlation(a, work->process, work->correlation);
    kino__built_event event = {.ts = work->start,
                               .dur = work->end - work->start,
                               .bind = correlation,
                               .external = work->external,
                               .name = name,
                               .phase = 'X'};
    event.category = category;
    event.track = device_track(a, work, category == a->sync || category == a->event);
    event.place = kino__event_args_end_with(&a->args, shared, correlation);
    (void)kino__event_builder_add(&a->events, &event);
}

void kino__activities_add_kernel(kino__activities *a, const kino__gpu_activity *given,
                                 const kino__kernel_launch *launch)
{
    kino__gpu_activity work = *given;
    int64_t w[WORDS];
    if (!check_times(a, work.start, &work.end))
        return;
    fill_work(w, &work);
    if (launch->short_name != KINO_NO_STRING && launch->short_name != launch->name)
        w[WORD_SHORT_NAME] = launch->short_name;
    w[WORD_REGISTERS] = launch->registers;
    w[WORD_STATIC_SHARED] = launch->static_shared;
    w[WORD_DYNAMIC_SHARED] = launch->dynamic_shared;
    memcpy(w + WORD_GRID, launch->grid, sizeof launch->grid);
    memcpy(w + WORD_BLOCK, launch->block, sizeof launch->block);
    add_work(a, &work, share_words(a, w), launch->name, a->kernel);
}

static const char *memory_text(int64_t kind)
{
    static const char *const texts[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                        "Array",   "Managed",  "Device Static", "Managed Static"};
    return kind >= 0 && kind < (int64_t)(sizeof texts / sizeof *texts) ? texts[kind] : texts[0];
}

static void add_bytes(kino__activities *a, const kino__gpu_activity *work, int64_t bytes)
{
    if (bytes < 0)
        return;
    kino__activities_arg(a, KINO__KEY_BYTES, bytes);
    if (work->end > work->start)
        kino__activities_arg_real(a, KINO__KEY_BANDWIDTH,
                                  (double)bytes / (double)(work->end - work->start));
}

void kino__activities_add_copy(kino__activities *a, const kino__gpu_activity *given,
                               const kino__memory_copy *copy)
{
    static const char *const kinds[] = {"<unknown>", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD",      "DtoA", "DtoD", "HtoH", "PtoP"};
    kino__gpu_activity work = *given;
    char text[96];
    int64_t w[WORDS];
    if (!check_times(a, work.start, &work.end))
        return;
    bool is_known = copy->kind > 0 && copy->kind < (int64_t)(sizeof kinds / sizeof *kinds);
    int size = snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", kinds[is_known ? copy->kind : 0],
                        memory_text(copy->source), memory_text(copy->target));
    kino_strid name = kino__activities_text(a, (kino_str){text, (size_t)size});
    fill_work(w, &work);
    uint64_t shared = share_words(a, w);
    kino__activities_arg(a, KINO__KEY_FROM_DEVICE, copy->from_device);
    kino__activities_arg(a, KINO__KEY_TO_DEVICE, copy->to_device);
    add_bytes(a, &work, copy->bytes);
    add_work(a, &work, shared, name, a->memcpy);
}

void kino__activities_add_set(kino__activities *a, const kino__gpu_activity *given, int64_t bytes,
                              int64_t memory)
{
    kino__gpu_activity work = *given;
    char text[48];
    int64_t w[WORDS];
    if (!check_times(a, work.start, &work.end))
        return;
    int size = snprintf(text, sizeof text, "Memset (%s)", memory_text(memory));
    kino_strid name = kino__activities_text(a, (kino_str){text, (size_t)size});
    fill_work(w, &work);
    uint64_t shared = share_words(a, w);
    add_bytes(a, &work, bytes);
    add_work(a, &work, shared, name, a->memset);
}

void kino__activities_add_wait(kino__activities *a, const kino__gpu_activity *given,
                               const kino__device_wait *wait)
{
    static const char *const kinds[] = {"Unknown Sync", "Event Sync", "Stream Wait Event",
                                        "Stream Sync", "Context Sync"};
    enum { EVENT = 1, STREAM_WAIT = 2 };
    kino__gpu_activity work = *given;
    if (!check_times(a, work.start, &work.end))
        return;
    bool is_known = wait->kind > 0 && wait->kind < (int64_t)(sizeof kinds / sizeof *kinds);
    kino_str kind = kino__str_from(kinds[is_known ? wait->kind : 0]);
    kino__activities_arg_text(a, KINO__KEY_SYNC_KIND, kind);
    if (wait->kind == EVENT || wait->kind == STREAM_WAIT) {
        int64_t recorded = own_correlation(a, work.process, wait->recorded_correlation);
        kino__activities_arg(a, KINO__KEY_WAIT_STREAM,
                             wait->recorded_stream == KINO_NO_INT ? -1 : wait->recorded_stream);
        kino__activities_arg(a, KINO__KEY_WAIT_CORRELATION,
                             recorded == KINO_NO_INT ? -1 : recorded);
        kino__activities_arg(a, KINO__KEY_WAIT_EVENT,
                             wait->event == KINO_NO_INT ? -1 : wait->event);
    }
    kino__activities_arg(a, KINO__KEY_STREAM, work.stream == KINO_NO_INT ? -1 : work.stream);
    kino__activities_arg(a, KINO__KEY_DEVICE, work.device);
    kino__activities_arg(a, KINO__KEY_CONTEXT, work.context);
    add_work(a, &work, 0, kino__activities_text(a, kind), a->sync);
}

void kino__activities_add_event_record(kino__activities *a, const kino__gpu_activity *given,
                                       int64_t event)
{
    kino__gpu_activity work = *given;
    work.end = is_time(work.start) ? work.start + 1 : work.start;
    if (!check_times(a, work.start, &work.end))
        return;
    kino__activities_arg(a, KINO__KEY_EVENT_ID, event);
    kino__activities_arg(a, KINO__KEY_STREAM, work.stream);
    kino__activities_arg(a, KINO__KEY_DEVICE, work.device);
    kino__activities_arg(a, KINO__KEY_CONTEXT, work.context);
    add_work(a, &work, 0, kino__activities_text(a, KINO__STR("cudaEvent")), a->event);
}

static void add_on_thread(kino__activities *a, const kino__thread_span *span, uint32_t track,
                          char phase)
{
    int64_t correlation = own_correlation(a, span->process, span->correlation);
    kino__activities_arg(a, KINO__KEY_EXTERNAL, span->external);
    kino__built_event event = {.ts = span->start,
                               .dur = phase == 'X' ? span->end - span->start : KINO_NO_TIME,
                               .bind = correlation,
                               .external = span->external,
                               .name = span->name,
                               .track = track,
                               .phase = (uint8_t)phase};
    event.category = span->category;
    event.flags = phase == 'i' ? 1 << KINO__FLAG_SCOPE_SHIFT : 0;
    event.place = kino__event_args_end_with(&a->args, 0, correlation);
    (void)kino__event_builder_add(&a->events, &event);
}

void kino__activities_make_op(kino__activities *a, kino__thread_span *span,
                              const kino__op_marker *op, int64_t forward_thread)
{
    span->category = a->op;
    span->name = kino__activities_text(a, op->name);
    kino__activities_arg(a, KINO__KEY_SEQUENCE, op->sequence);
    if (op->is_backward)
        kino__activities_arg(a, KINO__KEY_FORWARD_THREAD, forward_thread);
    kino__activities_arg(a, KINO__KEY_RECORD_FUNCTION, op->op_id);
    if (op->sizes.size)
        kino__activities_arg_json(a, KINO__KEY_DIMS, op->sizes);
}

void kino__activities_add_span(kino__activities *a, const kino__thread_span *given)
{
    kino__thread_span span = *given;
    if (check_times(a, span.start, &span.end))
        add_on_thread(a, &span, thread_track(a, &span), 'X');
}

void kino__activities_add_mark(kino__activities *a, const kino__thread_span *given)
{
    kino__thread_span span = *given;
    span.end = span.start;
    if (check_times(a, span.start, &span.end))
        add_on_thread(a, &span, thread_track(a, &span), 'i');
}

void kino__activities_add_overhead(kino__activities *a, const kino__thread_span *given)
{
    kino__thread_span span = *given;
    span.category = a->overhead;
    if (check_times(a, span.start, &span.end))
        add_on_thread(a, &span,
                      kino__event_builder_track(&a->events, int_label(-1), int_label(span.tid)),
                      'X');
}

void kino__activities_add_counter(kino__activities *a, int64_t device, int64_t time,
                                  kino_strid name, int64_t value)
{
    int64_t end = time;
    if (!check_times(a, time, &end))
        return;
    kino__activities_arg(a, KINO__KEY_VALUE, value);
    kino__built_event event = {.ts = time,
                               .dur = KINO_NO_TIME,
                               .bind = KINO_NO_INT,
                               .external = KINO_NO_INT,
                               .name = name,
                               .phase = 'C'};
    event.track =
        kino__event_builder_track(&a->events, int_label(device), text_label(a, "metrics"));
    event.category = KINO__CATEGORY_NONE;
    event.place = kino__event_args_end(&a->args, 0);
    (void)kino__event_builder_add(&a->events, &event);
}

/* -- calls -- */

kino_str kino__activity_call_name(kino_str name)
{
    size_t digits = name.size;
    while (digits > 0 && name.data[digits - 1] >= '0' && name.data[digits - 1] <= '9')
        digits--;
    bool is_version =
        name.size - digits >= 4 && digits >= 2 && memcmp(name.data + digits - 2, "_v", 2) == 0;
    return (kino_str){name.data, is_version ? digits - 2 : name.size};
}

uint16_t kino__activities_call_category(const kino__activities *a, kino_str name)
{
    bool is_driver = name.size > 2 && name.data[0] == 'c' && name.data[1] == 'u' &&
                     name.data[2] >= 'A' && name.data[2] <= 'Z';
    return is_driver ? a->driver : a->runtime;
}

/* -- names and the end -- */

static void add_name(kino__activities *a, uint32_t track, const char *what, kino__activity_key key,
                     kino_str name)
{
    kino__activities_arg_text(a, key, name);
    kino__built_event event = {.ts = KINO_NO_TIME,
                               .dur = KINO_NO_TIME,
                               .bind = KINO_NO_INT,
                               .external = KINO_NO_INT,
                               .name = kino__activities_text(a, kino__str_from(what)),
                               .track = track,
                               .phase = 'M'};
    event.category = KINO__CATEGORY_NONE;
    event.place = kino__event_args_end(&a->args, 0);
    (void)kino__event_builder_add(&a->events, &event);
}

void kino__activities_name_thread(kino__activities *a, uint32_t track, kino_str name)
{
    add_name(a, track, "thread_name", KINO__KEY_NAME, name);
}

void kino__activities_name_process(kino__activities *a, int64_t pid, kino_str name)
{
    uint32_t track = kino__event_builder_track(&a->events, int_label(pid),
                                               (kino__label){KINO__LABEL_NONE, KINO_NO_STRING, 0});
    add_name(a, track, "process_name", KINO__KEY_NAME, name);
    add_name(a, track, "process_labels", KINO__KEY_LABELS, KINO__STR("CPU"));
}

static void name_device(kino__activities *a, int64_t device)
{
    char text[32];
    int size = snprintf(text, sizeof text, "GPU %" PRId64, device);
    uint32_t track = kino__event_builder_track(&a->events, int_label(device),
                                               (kino__label){KINO__LABEL_NONE, KINO_NO_STRING, 0});
    add_name(a, track, "process_labels", KINO__KEY_LABELS, (kino_str){text, (size_t)size});
}

static bool is_first_of_device(const kino__activities *a, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (a->rows.items[i].device == a->rows.items[row].device)
            return false;
    return true;
}

static void name_streams(kino__activities *a)
{
    for (size_t i = 0; i < a->rows.count; i++) {
        kino__activity_row row = a->rows.items[i];
        char text[64];
        if (row.device == KINO_NO_INT)
            continue;
        int size = row.number == NO_STREAM ? snprintf(text, sizeof text, "waits")
                                           : snprintf(text, sizeof text, "stream %" PRId64 "%s",
                                                      row.number, row.is_sync ? " (waits)" : "");
        kino__activities_name_thread(a, row.track, (kino_str){text, (size_t)size});
        if (is_first_of_device(a, i))
            name_device(a, row.device);
    }
}

kino_status kino__activities_build(kino__activities *a, kino__trace *trace, kino__pool *pool,
                                   kino_error *err)
{
    if (a->is_cancelled)
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    name_streams(a);
    if (a->is_over)
        return kino__fail(err, KINO_LIMIT,
                          "the rows of the database overlap or repeat: more than "
                          "%" PRIu64 " MiB of events",
                          a->most >> 20);
    if (kino__activities_failed(a))
        return kino__fail_nomem(err);
    kino__buffer_trim(&a->args.bytes);
    KINO_TRY(kino__event_builder_build(&a->events, trace, pool, err));
    trace->text = kino__event_args_text_take(&a->args, &a->events.texts);
    if (!trace->text)
        return kino__fail_nomem(err);
    return kino__trace_describe(trace, err);
}

/* kino/builder.h - a trace made in memory: a program adds events, and gets a run that every
 * analysis, query, writer and page takes like one that was read from files.
 *
 * Example: a request as two nested spans, written as a file.
 *
 *   int main(void)
 *   {
 *       kino_builder *b = NULL;
 *       kino_run *run = NULL;
 *       kino_error err;
 *       kino_status st = kino_builder_new(NULL, &b, &err);
 *       if (st == KINO_OK) {
 *           uint32_t track = kino_builder_track(b, kino_label_number(1), kino_label_number(1));
 *           kino_builder_event event = KINO_BUILDER_EVENT_INIT;
 *           event.track = track;
 *           event.category = kino_builder_text(b, "user_annotation");
 *           event.name = kino_builder_text(b, "request");
 *           event.ts_ns = 1000;
 *           event.dur_ns = 500;
 *           kino_builder_arg_int(b, kino_builder_text(b, "bytes"), 4096);
 *           st = kino_builder_add(b, &event);
 *           event.name = kino_builder_text(b, "parse");
 *           event.dur_ns = 200;
 *           if (st == KINO_OK)
 *               st = kino_builder_add(b, &event);
 *           if (st == KINO_OK)
 *               st = kino_run_build(&b, 1, NULL, &run, &err);
 *       }
 *       if (st == KINO_OK)
 *           st = kino_run_write(run, "request.json", NULL, &err);
 *       kino_run_free(run);
 *       kino_builder_free(b);
 *       return st != KINO_OK;
 *   }
 *
 * Events may come in any order; each track is sorted by start, longer spans first, so that parents
 * stand before their children. Memory is about 52 bytes per event, and a few per argument.
 *
 * When memory is out, this call and all later ones fail, and so does kino_run_build: a program may
 * add everything and look once. A builder belongs to one thread at a time; several threads fill a
 * builder each and build one run of them. */
#ifndef KINO_BUILDER_H
#define KINO_BUILDER_H

#include <kino/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kino_builder kino_builder;

typedef struct kino_builder_options {
    uint32_t size;
    const char *name; /* of the trace, where others have the path of a file; NULL: none */
    /* What times of events count from, in ns since 1970; 0: a clock of their own, which is not
     * compared with that of other traces. */
    int64_t base_ns;
    uint64_t events; /* about how many there will be, which saves copies; 0: unknown */
} kino_builder_options;
#define KINO_BUILDER_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(kino_builder_options), NULL, 0, 0                                                   \
    }

KINO_API KINO_NODISCARD kino_status kino_builder_new(const kino_builder_options *options,
                                                     kino_builder **out, kino_error *err);
KINO_API void kino_builder_free(kino_builder *builder);

/* The number of a text, the same for the same text: names, categories, keys and values are given by
 * it. Bytes that are not UTF-8 become U+FFFD, one each. KINO_NO_STRING: memory is out. */
KINO_API kino_strid kino_builder_text(kino_builder *builder, const char *text);
KINO_API kino_strid kino_builder_str(kino_builder *builder, kino_str text);

/* -- tracks: the rows of a timeline -- */

/* A process or thread, by number or by text; both absent: none. */
typedef struct kino_label {
    kino_strid text;
    int64_t number;
} kino_label;

static inline kino_label kino_label_number(int64_t number)
{
    kino_label label;
    label.text = KINO_NO_STRING;
    label.number = number;
    return label;
}

static inline kino_label kino_label_text(kino_strid text)
{
    kino_label label;
    label.text = text;
    label.number = KINO_NO_INT;
    return label;
}

static inline kino_label kino_label_none(void)
{
    return kino_label_number(KINO_NO_INT);
}

/* The number of the track of this process and thread, made when new. UINT32_MAX: memory is out. */
KINO_API uint32_t kino_builder_track(kino_builder *builder, kino_label process, kino_label thread);

/* What people call the process or the thread of a track, and where the thread stands among
 * others. */
KINO_API KINO_NODISCARD kino_status kino_builder_name_process(kino_builder *builder,
                                                              kino_label process, kino_strid name);
KINO_API KINO_NODISCARD kino_status kino_builder_name_thread(kino_builder *builder, uint32_t track,
                                                             kino_strid name);
KINO_API KINO_NODISCARD kino_status kino_builder_sort_thread(kino_builder *builder, uint32_t track,
                                                             int64_t index);

/* -- arguments: what is given here belongs to the next event -- */

KINO_API void kino_builder_arg_int(kino_builder *builder, kino_strid key, int64_t value);
KINO_API void kino_builder_arg_uint(kino_builder *builder, kino_strid key, uint64_t value);
/* NaN and infinities become null, as in JSON. */
KINO_API void kino_builder_arg_double(kino_builder *builder, kino_strid key, double value);
KINO_API void kino_builder_arg_bool(kino_builder *builder, kino_strid key, bool value);
KINO_API void kino_builder_arg_null(kino_builder *builder, kino_strid key);
KINO_API void kino_builder_arg_text(kino_builder *builder, kino_strid key, kino_strid value);
/* A list or an object as JSON text; what is not valid JSON becomes a string. */
KINO_API void kino_builder_arg_json(kino_builder *builder, kino_strid key, kino_str json);

/* Instead of the next event's: arguments that many events have, kept once. The result goes into
 * `args` of events; arguments of their own come after them. 0: there were none. */
KINO_API uint64_t kino_builder_share_args(kino_builder *builder);

/* -- events -- */

typedef struct kino_builder_event {
    int64_t ts_ns;  /* since the base; KINO_NO_TIME for 'M' only */
    int64_t dur_ns; /* of 'X', 0 or more; ignored for others */
    uint64_t id;    /* of flows ('s', 't', 'f') and of 'b', 'n', 'e'; ignored for others */
    uint64_t args;  /* of kino_builder_share_args; 0: none */
    kino_strid name, category; /* KINO_NO_STRING: none */
    uint32_t track;
    char phase; /* 'X' span, 'i' instant, 'C' counter (its values are arguments), 's' 't' 'f' flow,
                   'b' 'n' 'e' asynchronous, 'M' metadata: the letters of Chrome's format */
    char scope; /* of 'i': 't' thread, 'p' process, 'g' global; 0: thread */
} kino_builder_event;
#define KINO_BUILDER_EVENT_INIT                                                                    \
    {                                                                                              \
        KINO_NO_TIME, 0, 0, 0, KINO_NO_STRING, KINO_NO_STRING, 0, 'X', 0                           \
    }

/* Adds an event with the arguments given since the last one. The arguments "correlation" and
 * "External id" link device work with its launch and its operator. KINO_ARGUMENT: no such phase,
 * track, text or arguments, or a time that is not within 2^62 ns of the base; it is left out, and
 * the builder goes on. KINO_LIMIT: more than 2^31 - 1 events. */
KINO_API KINO_NODISCARD kino_status kino_builder_add(kino_builder *builder,
                                                     const kino_builder_event *event);
/* The same for many, which have no arguments of their own. Those before a bad one are added. */
KINO_API KINO_NODISCARD kino_status kino_builder_add_many(kino_builder *builder,
                                                          const kino_builder_event *events,
                                                          size_t count);

/* A sampled call stack, outermost function first, that stands for [start_ns, end_ns): a span for
 * each function. Consecutive ones share the spans of the functions that they have in common from
 * the outermost on. Of each track in order of time; KINO_ARGUMENT: one that begins before the last
 * one ended. */
KINO_API KINO_NODISCARD kino_status kino_builder_sample(kino_builder *builder, uint32_t track,
                                                        kino_strid category, int64_t start_ns,
                                                        int64_t end_ns, const kino_strid *functions,
                                                        size_t count);

/* A top-level key of the trace ("distributedInfo", "host_name", ...), its value as JSON text; what is
 * not valid JSON becomes a string. */
KINO_API void kino_builder_metadata(kino_builder *builder, const char *key, kino_str json);

/* How many events it has. */
KINO_API uint64_t kino_builder_count(const kino_builder *builder);

/* Makes a run of which each builder is a trace, in order of ranks, then names. Builders are empty
 * afterwards, also after a failure, and can only be freed. Of the options jobs, progress and `about`
 * count. */
KINO_API KINO_NODISCARD kino_status kino_run_build(kino_builder *const *builders, size_t count,
                                                   const kino_load_options *options, kino_run **out,
                                                   kino_error *err);

#ifdef __cplusplus
}
#endif
#endif

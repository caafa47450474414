/* memory_timeline.c - the reader of PyTorch's raw memory timeline: a JSON list of
 * [time in ns, action, signed bytes, category].
 *
 * Every record is a mark on the one track of the trace, named after its action. Sizes and
 * categories are arguments; their texts are made when somebody asks. A record from before the
 * profiler began has no time: it stands at the first one there is, and has the argument "Time". */
#include "reader/memory_timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json_chars.h"
#include "codec/source.h"
#include "reader/reader.h"
#include "store/builder.h"

#define CATEGORY "memory_timeline"

enum { PIECE = 1 << 18, ARGS_MAX = 192, TAIL = 64 };

/* As in torch.profiler._memory_profiler. */
static const char *const action_names[] = {NULL, "preexisting", "create", "increment_version",
                                           "destroy"};
static const char *const category_names[] = {"Parameter", "Optimizer state", "Input",
                                             "Temporary", "Activation",      "Gradient",
                                             "Autograd",  "Unknown"};

/* -- the text -- */

typedef struct timeline_text {
    kino__text text;
    kino__timeline_records records;
} timeline_text;

static void *cursor_new(const kino__text *text)
{
    (void)text;
    return malloc(ARGS_MAX + TAIL);
}

static void cursor_free(const kino__text *text, void *cursor)
{
    (void)text;
    free(cursor);
}

/* `place` is the number of a record, from 1. */
static kino_str make_args(const kino__text *text, void *cursor, uint64_t place)
{
    const timeline_text *self = (const timeline_text *)text;
    if (!cursor || place == 0 || place > self->records.count)
        return (kino_str){"", 0};
    const kino__timeline_record *r = &self->records.items[place - 1];
    char category[32], time[48] = "", *out = cursor;
    if (r->category < sizeof category_names / sizeof *category_names)
        (void)snprintf(category, sizeof category, "\"%s\"", category_names[r->category]);
    else
        (void)snprintf(category, sizeof category, "%u", r->category);
    if (r->time < 0)
        (void)snprintf(time, sizeof time, ", \"Time\": %" PRId64, r->time);
    int size = snprintf(out, ARGS_MAX, "{\"Bytes\": %" PRId64 ", \"Category\": %s%s}", r->bytes,
                        category, time);
    memset(out + size, 0, TAIL);
    return (kino_str){out, (size_t)size};
}

static void free_text(kino__text *text)
{
    timeline_text *self = (timeline_text *)text;
    kino__vec_deinit(&self->records);
    free(self);
}

/* Takes the records. */
static kino__text *text_take(kino__timeline_records *records)
{
    timeline_text *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->text = (kino__text){
        .cursor_new = cursor_new, .cursor_free = cursor_free, .free = free_text, .args = make_args};
    memcpy(&self->records, records, sizeof self->records);
    memset(records, 0, sizeof *records);
    return &self->text;
}

/* -- the trace -- */

/* A string of the part; the text is a constant or lies in its arena. */
static uint32_t add_string(kino__part *part, kino_str text)
{
    kino__part_string *s = text.data ? kino__vec_add(&part->strings) : NULL;
    part->failed |= !s;
    if (!s)
        return KINO_NO_STRING;
    uint32_t id = (uint32_t)part->strings.count - 1;
    *s = (kino__part_string){
        .text = text.data, .size = (uint32_t)text.size, .hash = id, .position = id};
    return id;
}

static uint32_t add_action(kino__part *part, unsigned action)
{
    bool is_known = action > 0 && action < sizeof action_names / sizeof *action_names;
    return add_string(part, is_known ? kino__str_from(action_names[action])
                                     : kino__arena_format(&part->arena, "action %u", action));
}

static bool add_track(kino__part *part)
{
    kino__label pid = {KINO__LABEL_TEXT, add_string(part, KINO__STR("memory")), 0};
    kino__label tid = {KINO__LABEL_TEXT, add_string(part, KINO__STR("timeline")), 0};
    kino__part_track *track = kino__vec_add(&part->tracks);
    kino_strid *category = kino__vec_add(&part->own_categories);
    if (!track || !category)
        return false;
    *track = (kino__part_track){.pid = pid, .tid = tid};
    *category = add_string(part, KINO__STR(CATEGORY));
    return true;
}

/* The first time there is; 0: all is from before. */
static int64_t first_time(const kino__timeline_records *records)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < records->count; i++)
        if (records->items[i].time >= 0 && records->items[i].time < first)
            first = records->items[i].time;
    return first == INT64_MAX ? 0 : first;
}

static void add_record(kino__part *part, const kino__timeline_record *r, uint64_t place,
                       int64_t first, uint32_t name)
{
    kino__record record = {.ts = r->time < 0 ? first : r->time,
                           .dur = KINO_NO_TIME,
                           .place = place,
                           .name = name,
                           .bind = KINO__BIND_NONE,
                           .external = KINO__BIND_NONE};
    record.category = KINO__CATEGORY_COUNT;
    record.phase = 'i';
    record.flags = 1 << KINO__FLAG_SCOPE_SHIFT;
    kino__records_add(&part->records, &record);
    if (record.ts < part->min_ts)
        part->min_ts = record.ts;
}

/* Records whose numbers follow each other are a run. */
static void add_records(kino__part *part, const kino__timeline_records *records)
{
    int64_t first = first_time(records);
    uint32_t names[KINO__TIMELINE_MOST + 1];
    memset(names, 0xff, sizeof names);
    if (!kino__part_reserve(part, records->count)) {
        part->failed = true;
        return;
    }
    kino__record_run *run = NULL;
    for (uint32_t i = 0; i < records->count && !part->failed; i++) {
        const kino__timeline_record *r = &records->items[i];
        if (names[r->action] == KINO_NO_STRING)
            names[r->action] = add_action(part, r->action);
        if (!run || r->number != run->number + run->count) {
            run = kino__vec_add(&part->runs);
            part->failed |= !run;
            if (!run)
                return;
            *run = (kino__record_run){.first = i, .number = r->number};
        }
        run->count++;
        add_record(part, r, (uint64_t)i + 1, first, names[r->action]);
    }
}

static kino_status build(kino__trace *trace, const kino__timeline_parser *parser, kino__pool *pool,
                         kino_error *err)
{
    kino__part part;
    kino__part_init(&part);
    part.failed |= !add_track(&part);
    add_records(&part, &parser->records);
    kino__track_count *count = kino__vec_add(&part.counts);
    part.failed |= !count;
    if (count)
        *count = (kino__track_count){0, (uint32_t)parser->records.count};
    kino__piece piece = {.run_count = (uint32_t)part.runs.count,
                         .count_count = 1,
                         .number_count = parser->number,
                         .ledger = parser->ledger};
    kino__build build = {
        .parts = &part, .part_count = 1, .pieces = &piece, .piece_count = 1, .pool = pool};
    kino_status st = part.failed ? kino__fail_nomem(err) : kino__trace_build(trace, &build, err);
    kino__part_deinit(&part);
    if (st == KINO_OK && trace->tracks.count)
        trace->tracks.items[0].kind = KINO__TRACK_OTHER;
    return st;
}

/* -- the file -- */

static bool parse_plain(kino__timeline_parser *parser, kino_str bytes, kino__progress *progress)
{
    for (size_t at = 0; at < bytes.size; at += PIECE) {
        size_t size = bytes.size - at < PIECE ? bytes.size - at : PIECE;
        kino__timeline_parse(parser, (kino_str){bytes.data + at, size});
        if (!kino__progress_add(progress, size))
            return false;
    }
    return true;
}

static kino_status parse_packed(kino__timeline_parser *parser, kino__compression compression,
                                kino_str bytes, const kino__load_context *context, kino_error *err)
{
    uint64_t most = kino__load_most(context, bytes.size, KINO__TEXT_RATIO);
    kino__source *source = NULL;
    char *piece = malloc(PIECE);
    bool is_damaged = false;
    uint64_t told = 0;
    kino_status st =
        piece ? kino__source_open(compression, bytes, &source, err) : kino__fail_nomem(err);
    for (size_t size = PIECE; st == KINO_OK && size == PIECE;) {
        size = kino__source_read(source, piece, PIECE, &is_damaged);
        kino__timeline_parse(parser, (kino_str){piece, size});
        uint64_t consumed = kino__source_consumed(source);
        if (!kino__progress_add(context->progress, consumed - told))
            st = kino__fail(err, KINO_CANCELLED, "interrupted");
        if (parser->offset > most)
            st = kino__fail_expansion(bytes.size, most, err);
        told = consumed;
    }
    if (st == KINO_OK && is_damaged)
        kino__ledger_add(&parser->ledger, KINO__DAMAGE_COMPRESSION, parser->offset);
    kino__source_close(source);
    free(piece);
    return st;
}

static kino_status parse(kino__timeline_parser *parser, kino_str bytes,
                         kino__compression compression, const kino__load_context *context,
                         kino_error *err)
{
    kino__progress_stage(context->progress, "reading", bytes.size);
    if (compression != KINO__COMPRESSION_NONE)
        KINO_TRY(parse_packed(parser, compression, bytes, context, err));
    else if (!parse_plain(parser, bytes, context->progress))
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    if (parser->number >= KINO__TIMELINE_ELEMENTS)
        return kino__fail(err, KINO_LIMIT, "more than %d records", KINO__TIMELINE_ELEMENTS);
    if (parser->failed)
        return kino__fail_nomem(err);
    kino__timeline_parse_end(parser);
    if (parser->records.count == 0)
        return kino__fail(err, KINO_FORMAT, "list of lists without memory records");
    return KINO_OK;
}

static kino_status load(const char *path, kino__file *file, const kino__load_context *context,
                        kino__trace *trace, kino_error *err)
{
    (void)path;
    const int64_t plausible = INT64_C(1000000000) * 1000000000; /* September 2001 */
    kino_str bytes = {file->data, file->size};
    kino__compression compression = kino__compression_detect(bytes);
    kino__timeline_parser parser = {0};
    trace->format = KINO__STR("memory-timeline");
    trace->compression = kino__str_from(kino__compression_name(compression));
    trace->file_bytes = file->size;
    kino_status st = parse(&parser, bytes, compression, context, err);
    if (st == KINO_OK)
        st = build(trace, &parser, context->pool, err);
    trace->text_bytes = parser.offset;
    trace->is_epoch = trace->origin_ns >= plausible;
    if (st == KINO_OK) {
        trace->text = text_take(&parser.records);
        st = trace->text ? KINO_OK : kino__fail_nomem(err);
    }
    kino__timeline_parser_deinit(&parser);
    return st;
}

/* A list whose first element is a list that begins with a number; Chrome's lists are of objects. */
static int sniff(kino_str head)
{
    size_t i = head.size >= 3 && memcmp(head.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (int bracket = 0; bracket < 2; bracket++, i++) {
        while (i < head.size && kino__is_json_space(head.data[i]))
            i++;
        if (i == head.size || head.data[i] != '[')
            return 0;
    }
    while (i < head.size && kino__is_json_space(head.data[i]))
        i++;
    bool is_number =
        i < head.size && (head.data[i] == '-' || (head.data[i] >= '0' && head.data[i] <= '9'));
    return is_number ? 80 : 0;
}

const kino__reader_def kino__reader_memory_timeline = {
    .name = "memory-timeline",
    .help = "PyTorch's raw memory timeline, plain, .gz or .zst",
    .sniff = sniff,
    .load = load,
};

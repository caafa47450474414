/* collective_calls.c - the calls of collectives in a trace.
 *
 * Kernels of communication libraries, and spans of the host where a library like Gloo moves the
 * data there; in a trace of the host alone the calls that ask for a collective. The metadata that
 * the profiler writes stand on the kernel or on the operator that launched it. Linear in the
 * events, and a sort of the calls. */
#include "analysis/distributed/collective_calls.h"

#include <stdlib.h>

#include "analysis/distributed/collective_names.h"
#include "analysis/distributed/distributed.h"
#include "base/keyed_sort.h"
#include "names/communication.h"
#include "store/args.h"
#include "store/link.h"

typedef struct scan {
    const kino__analysis *a;
    const kino__trace *trace;
    kino__string_pool *kinds;
    kino__collective_calls *calls;
    const uint32_t *op_of;
    const kino__steps *steps;
    uint8_t *meaning; /* of each name */
    bool has_kernel;
    kino__string_pool scratch;
    kino__text_cursor cursor;
    kino__buffer text;
    KINO__VEC(kino__keyed) rows; /* start, row */
} scan;

static bool is_host_kind(kino__kind kind)
{
    return kind == KINO__KIND_OP || kind == KINO__KIND_ANNOTATION;
}

/* What the name of an event says; a bit each. */
enum { KERNEL = 1, ON_HOST = 2, LAUNCHES = 4, DISPATCHES = 8 };

static uint8_t meaning_of(kino_str name)
{
    kino__comm span = kino__comm_of_span(name);
    uint8_t bits = kino__comm_of_kernel(name).kind == KINO__COMM_CARRIES ? KERNEL : 0;
    if (span.kind == KINO__COMM_CARRIES)
        bits |= kino__comm_library_is_host(span.library) ? ON_HOST : LAUNCHES;
    if (span.kind == KINO__COMM_DISPATCHES)
        bits |= DISPATCHES;
    return bits;
}

static bool is_span(const kino__trace *trace, uint32_t row)
{
    return trace->phase[row] == 'X' && trace->ts[row] != KINO_NO_TIME &&
           trace->dur[row] != KINO_NO_TIME && trace->name[row] != KINO_NO_STRING;
}

static bool add_row(scan *s, uint32_t row)
{
    kino__keyed *k = kino__vec_add(&s->rows);
    if (k)
        *k = (kino__keyed){s->trace->ts[row], row};
    return k != NULL;
}

/* Kernels, and the spans of libraries that move data on the host. */
static bool collect_carriers(scan *s, const kino_strid *collective)
{
    const kino__trace *trace = s->trace;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        kino__kind kind = kino__category_kind(trace->category[row]);
        s->has_kernel |= kind == KINO__KIND_KERNEL;
        if (!is_span(trace, row))
            continue;
        uint8_t bits = s->meaning[trace->name[row]];
        bool is_kernel =
            kind == KINO__KIND_KERNEL && (bits & KERNEL || collective[row] != KINO_NO_STRING);
        bool is_host = is_host_kind(kind) && bits & ON_HOST;
        if ((is_kernel || is_host) && !add_row(s, row))
            return false;
    }
    return true;
}

/* A trace of the host alone: the calls that would launch, else those that ask for a collective;
 * what lies inside one of them is the same call. */
static bool collect_calls(scan *s, uint8_t bits)
{
    const kino__trace *trace = s->trace;
    for (size_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        int64_t end = INT64_MIN;
        for (uint32_t row = track->first; row < track->first + track->count; row++) {
            if (!is_span(trace, row) || !is_host_kind(kino__category_kind(trace->category[row])) ||
                !(s->meaning[trace->name[row]] & bits) || trace->ts[row] < end)
                continue;
            end = kino__sum(trace->ts[row], trace->dur[row]);
            if (!add_row(s, row))
                return false;
        }
    }
    return true;
}

static bool collect(scan *s)
{
    const kino__trace *trace = s->trace;
    const kino__string_pool *texts;
    const kino_strid *collective = kino__args_string_column(trace, "Collective name", &texts);
    size_t names = kino__string_pool_count(&trace->strings);
    s->meaning = malloc(names + 1);
    if (!collective || !s->meaning)
        return false;
    for (kino_strid id = 0; id < names; id++)
        s->meaning[id] = meaning_of(kino__trace_string(trace, id));
    bool ok = collect_carriers(s, collective);
    if (ok && !s->has_kernel && s->rows.count == 0)
        ok = collect_calls(s, LAUNCHES) && (s->rows.count || collect_calls(s, DISPATCHES));
    return ok && kino__keyed_sort(s->rows.items, s->rows.count);
}

/* The event that has the metadata: the kernel, the operator that launched it; KINO_NO_ROW. */
static uint32_t row_with_metadata(scan *s, uint32_t row)
{
    static const kino_str key = {"Collective name", 15};
    if (kino__args_find(kino__args_text(s->trace, row, &s->cursor), key).size)
        return row;
    uint32_t op = s->op_of[row];
    if (op != KINO_NO_ROW && kino__args_find(kino__args_text(s->trace, op, &s->cursor), key).size)
        return op;
    return KINO_NO_ROW;
}

/* Bytes of the larger side: what a rank has to send, or gets. */
static int64_t larger_size(int64_t in_size, kino_str args)
{
    int64_t in = kino__args_int(args, "In msg nelems"),
            out = kino__args_int(args, "Out msg nelems");
    if (in_size == KINO_NO_INT || in <= 0 || out <= in || in_size % in != 0)
        return in_size;
    int64_t size;
    return __builtin_mul_overflow(in_size / in, out, &size) ? INT64_MAX : size;
}

static int64_t series_of(const scan *s, uint32_t row, kino_str args)
{
    int64_t sequence = args.size ? kino__args_int(args, "Seq") : KINO_NO_INT;
    uint32_t step = s->steps->of_row[row];
    if (sequence != KINO_NO_INT)
        return sequence;
    return step == KINO_NO_ROW ? KINO_NO_INT : s->steps->items[step].number;
}

/* Whom a send goes to, whom a receive is from: one side is the trace's own rank. */
static void find_peers(const scan *s, kino_str args, kino__collective_call *call)
{
    int64_t to = kino__args_int(args, "Dst Rank"), from = kino__args_int(args, "Src Rank");
    bool is_send = to != KINO_NO_INT && to >= 0, is_receive = from != KINO_NO_INT && from >= 0;
    if (is_send == is_receive || s->trace->rank == KINO_NO_INT)
        return;
    call->from = is_send ? s->trace->rank : from;
    call->to = is_send ? to : s->trace->rank;
}

static bool read_call(scan *s, uint32_t row, uint32_t told, kino__dist_call *out)
{
    uint32_t op = s->op_of[row];
    bool is_host = is_host_kind(kino__category_kind(s->trace->category[row]));
    uint32_t span = told != KINO_NO_ROW ? told : op != KINO_NO_ROW && !is_host ? op : row;
    uint32_t kernel = told != KINO_NO_ROW ? told : is_host ? KINO_NO_ROW : row;
    return kino__dist_read_call(s->trace, span, kernel, false, &s->scratch, &s->cursor, out);
}

static bool add_call(scan *s, uint32_t row)
{
    uint32_t step = s->steps->of_row[row];
    int64_t number = step == KINO_NO_ROW ? KINO_NO_INT : s->steps->items[step].number;
    if (!kino__analysis_wants_step(s->a, number))
        return true;
    uint32_t told = row_with_metadata(s, row);
    kino__dist_call read;
    if (!read_call(s, row, told, &read))
        return false;
    kino_str args = {"", 0};
    if (told != KINO_NO_ROW)
        args = kino__args_text(s->trace, told, &s->cursor);
    else
        s->calls->is_by_name = true;
    kino__collective_call call = {.row = row,
                                  .op = s->op_of[row],
                                  .series = series_of(s, row, args),
                                  .step = number,
                                  .size =
                                      read.size > 0 ? larger_size(read.size, args) : KINO_NO_INT,
                                  .from = KINO_NO_INT,
                                  .to = KINO_NO_INT};
    find_peers(s, args, &call);
    s->text.size = 0;
    kino__collective_text(kino__trace_string(s->trace, s->trace->name[row]), args,
                          s->trace->world_size, &s->text);
    call.kind = kino__string_pool_add(s->kinds, kino__buffer_str(&s->text));
    kino__collective_call *slot =
        s->text.failed || call.kind == KINO_NO_STRING ? NULL : kino__vec_add(&s->calls->items);
    if (slot)
        *slot = call;
    return slot != NULL;
}

bool kino__collective_calls_find(const kino__analysis *a, const kino__trace *trace,
                                 kino__string_pool *kinds, kino__collective_calls *out)
{
    scan s = {.a = a, .trace = trace, .kinds = kinds, .calls = out};
    kino__text_cursor_init(&s.cursor, trace->text);
    s.op_of = kino__link_op(trace);
    s.steps = kino__link_steps(trace);
    bool ok = s.op_of && s.steps && collect(&s);
    for (size_t i = 0; ok && i < s.rows.count; i++)
        ok = add_call(&s, s.rows.items[i].value);
    kino__text_cursor_deinit(&s.cursor);
    kino__string_pool_deinit(&s.scratch);
    kino__buffer_deinit(&s.text);
    kino__vec_deinit(&s.rows);
    free(s.meaning);
    return ok;
}

void kino__collective_calls_deinit(kino__collective_calls *calls)
{
    kino__vec_deinit(&calls->items);
}

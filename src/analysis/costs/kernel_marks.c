/* kernel_marks.c - what the ranges around the launch of a kernel say; see the header. */
#include "analysis/costs/kernel_marks.h"

#include <stdio.h>
#include <stdlib.h>

#include "names/op_marker.h"
#include "store/interval.h"

bool kino__marks_reader_init(kino__marks_reader *r, const kino__trace *trace, bool is_compat)
{
    *r = (kino__marks_reader){
        .trace = trace, .is_compat = is_compat, .parent = kino__link_parent(trace)};
    return r->parent && kino__int_argument_init(&r->sequence, trace, "Sequence number");
}

void kino__marks_reader_deinit(kino__marks_reader *r)
{
    kino__string_pool_deinit(&r->texts);
    kino__vec_deinit(&r->rows);
    kino__op_call_deinit(&r->call);
}

void kino__kernel_marks_deinit(kino__kernel_marks *m)
{
    kino__str_list *const lists[] = {&m->arguments, &m->layers, &m->traces, &m->modules,
                                     &m->sequences, &m->others, &m->op,     &m->mod};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        kino__vec_deinit(lists[i]);
    kino__vec_deinit(&m->numbers);
}

static bool add(kino__str_list *list, kino_str text)
{
    kino_str *slot = kino__vec_add(list);
    if (slot)
        *slot = text;
    return slot != NULL;
}

/* -- the ranges -- */

static bool is_range(const kino__trace *trace, uint32_t row)
{
    kino__kind kind = kino__category_kind(trace->category[row]);
    return (kind == KINO__KIND_ANNOTATION || kind == KINO__KIND_OP) &&
           trace->name[row] != KINO_NO_STRING;
}

/* Strictly around the launch, outermost first. */
static bool find_ranges(kino__marks_reader *r, uint32_t launch, int64_t forgotten)
{
    const kino__trace *trace = r->trace;
    int64_t start = trace->ts[launch], end = kino__interval_of(start, trace->dur[launch]).end;
    r->rows.count = 0;
    for (uint32_t at = r->parent[launch]; at != KINO_NO_ROW; at = r->parent[at]) {
        int64_t range_end = kino__interval_of(trace->ts[at], trace->dur[at]).end;
        bool is_around = trace->ts[at] < start && range_end > end;
        if (!is_range(trace, at) || !is_around ||
            (forgotten != KINO_NO_TIME && range_end < forgotten))
            continue;
        uint32_t *slot = kino__vec_add(&r->rows);
        if (!slot)
            return false;
        *slot = at;
    }
    for (size_t i = 0; i < r->rows.count / 2; i++) {
        uint32_t swap = r->rows.items[i];
        r->rows.items[i] = r->rows.items[r->rows.count - 1 - i];
        r->rows.items[r->rows.count - 1 - i] = swap;
    }
    return true;
}

/* A range of emit_nvtx that became an operator has its number in an argument: "NAME, seq = 12". */
static bool text_of(kino__marks_reader *r, uint32_t row, kino_str *out)
{
    *out = kino__trace_string(r->trace, r->trace->name[row]);
    int64_t sequence = kino__int_argument_of(&r->sequence, row);
    if (kino__category_kind(r->trace->category[row]) != KINO__KIND_OP || sequence < 0)
        return true;
    kino__buffer text = {0};
    kino__buffer_printf(&text, "%.*s, seq = %lld", KINO__STR_ARG(*out), (long long)sequence);
    kino_strid id =
        text.failed ? KINO_NO_STRING : kino__string_pool_add(&r->texts, kino__buffer_str(&text));
    kino__buffer_deinit(&text);
    if (id != KINO_NO_STRING)
        *out = kino__string_pool_text(&r->texts, id);
    return id != KINO_NO_STRING;
}

static bool sort_into_bins(kino__marks_reader *r, kino__kernel_marks *m)
{
    kino__str_list *const bins[] = {
        [KINO__MARKER_DROPPED] = NULL,       [KINO__MARKER_ARGUMENTS] = &m->arguments,
        [KINO__MARKER_LAYER] = &m->layers,   [KINO__MARKER_TRACE] = &m->traces,
        [KINO__MARKER_MODULE] = &m->modules, [KINO__MARKER_SEQUENCE] = &m->sequences,
        [KINO__MARKER_OTHER] = &m->others};
    for (size_t i = 0; i < r->rows.count; i++) {
        kino_str text;
        if (!text_of(r, r->rows.items[i], &text))
            return false;
        kino__str_list *bin = bins[kino__marker_kind_of(text, r->is_compat)];
        if (bin && !add(bin, text))
            return false;
    }
    return true;
}

/* -- sequence markers, as PyProf sorts them -- */

static kino__op_marker fields_of(kino_str text)
{
    kino__op_marker fields;
    if (!kino__op_marker_parse(text, &fields))
        fields = (kino__op_marker){.name = text, .sequence = KINO_NO_INT, .op_id = KINO_NO_INT};
    return fields;
}

/* PyProf's key: the number as text, then the rest. */
static int compare_sequences(const void *x, const void *y)
{
    kino__op_marker a = fields_of(*(const kino_str *)x), b = fields_of(*(const kino_str *)y);
    char left[24], right[24];
    (void)snprintf(left, sizeof left, "%lld", (long long)a.sequence);
    (void)snprintf(right, sizeof right, "%lld", (long long)b.sequence);
    size_t shorter = strlen(left) < strlen(right) ? strlen(left) : strlen(right);
    int order = memcmp(left, right, shorter);
    if (order)
        return order;
    if (strlen(left) == strlen(right))
        return kino__str_compare(a.name, b.name);
    /* digits of the longer number against the name behind the shorter one */
    bool is_left = strlen(left) < strlen(right);
    kino_str name = is_left ? a.name : b.name;
    const char *digits = (is_left ? right : left) + shorter;
    bool is_name_less = name.size == 0 || (unsigned char)name.data[0] < (unsigned char)digits[0];
    return is_left == is_name_less ? -1 : 1;
}

static bool is_similar(kino_str a, kino_str b)
{
    kino__op_marker x = fields_of(a), y = fields_of(b);
    return x.sequence == y.sequence &&
           (kino__str_contains(x.name, y.name) || kino__str_contains(y.name, x.name));
}

/* Unique, sorted, and without those that are similar to the one before them. */
static void prune_sequences(kino__str_list *list)
{
    size_t count = 0;
    if (list->count == 0)
        return;
    qsort(list->items, list->count, sizeof *list->items, compare_sequences);
    for (size_t i = 0; i < list->count; i++)
        if (i == 0 || !kino__str_equal(list->items[i], list->items[i - 1]))
            list->items[count++] = list->items[i];
    list->count = count;
    kino_str before = list->items[0];
    count = 1;
    for (size_t i = 1; i < list->count; i++) {
        kino_str now = list->items[i];
        if (!is_similar(now, before))
            list->items[count++] = now;
        before = now;
    }
    list->count = count;
}

/* Ascending and unique; 0 means nothing where there are others. */
static bool collect_numbers(kino__kernel_marks *m)
{
    for (size_t i = 0; i < m->sequences.count; i++) {
        int64_t number = fields_of(m->sequences.items[i]).sequence;
        size_t at = 0;
        while (at < m->numbers.count && m->numbers.items[at] < number)
            at++;
        if (number == KINO_NO_INT || (at < m->numbers.count && m->numbers.items[at] == number))
            continue;
        int64_t *fresh = kino__vec_add(&m->numbers);
        if (!fresh)
            return false;
        for (size_t k = m->numbers.count - 1; k > at; k--)
            m->numbers.items[k] = m->numbers.items[k - 1];
        m->numbers.items[at] = number;
    }
    if (m->numbers.count > 1 && m->numbers.items[0] == 0) {
        for (size_t k = 1; k < m->numbers.count; k++)
            m->numbers.items[k - 1] = m->numbers.items[k];
        m->numbers.count--;
    }
    return true;
}

/* -- names -- */

/* "torch::autograd::AddmmBackward" is "Addmm". */
static bool plain_backward(kino__marks_reader *r, kino_str name, kino_str *out)
{
    static const char *const noise[] = {"torch", "autograd", "_backward",
                                        "::",    "jit",      "(anonymous namespace)"};
    char text[512];
    size_t size = name.size < sizeof text ? name.size : sizeof text - 1;
    memcpy(text, name.data, size);
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) {
        size_t length = strlen(noise[i]);
        for (size_t at = 0; at + length <= size;)
            if (memcmp(text + at, noise[i], length) == 0) {
                memmove(text + at, text + at + length, size - at - length);
                size -= length;
            } else {
                at++;
            }
    }
    const char *cut = memmem(text, size, "Backward", 8);
    kino_strid id =
        kino__string_pool_add(&r->texts, (kino_str){text, cut ? (size_t)(cut - text) : size});
    *out = id == KINO_NO_STRING ? (kino_str){"", 0} : kino__string_pool_text(&r->texts, id);
    return id != KINO_NO_STRING;
}

static bool name_by_arguments(kino__marks_reader *r, kino__kernel_marks *m)
{
    for (size_t i = 0; i < m->arguments.count; i++) {
        bool is_one;
        if (!kino__op_call_read_pyprof(&r->call, m->arguments.items[i], &is_one))
            return false;
        kino_strid op = is_one ? kino__string_pool_add(&r->texts, r->call.name) : KINO_NO_STRING,
                   mod = is_one ? kino__string_pool_add(&r->texts, r->call.module) : KINO_NO_STRING;
        if (is_one && (op == KINO_NO_STRING || mod == KINO_NO_STRING ||
                       !add(&m->op, kino__string_pool_text(&r->texts, op)) ||
                       !add(&m->mod, kino__string_pool_text(&r->texts, mod))))
            return false;
    }
    return true;
}

static bool name_by_sequences(kino__marks_reader *r, kino__kernel_marks *m, bool only_backward)
{
    for (size_t i = 0; i < m->sequences.count; i++) {
        kino_str name = fields_of(m->sequences.items[i]).name;
        bool is_backward = kino__str_ends_with(name, KINO__STR("Backward")) ||
                           kino__str_ends_with(name, KINO__STR("backward"));
        if (only_backward && !is_backward)
            continue;
        if ((only_backward && !plain_backward(r, name, &name)) || !add(&m->op, name) ||
            !add(&m->mod, KINO__STR("na")))
            return false;
    }
    return true;
}

static bool name_kernel(kino__marks_reader *r, kino__kernel_marks *m)
{
    if (!name_by_arguments(r, m))
        return false;
    if (m->op.count == 0 && !name_by_sequences(r, m, true))
        return false;
    if (m->op.count == 0 && !name_by_sequences(r, m, false))
        return false;
    if (m->op.count)
        return true;
    return (m->others.count == 0 || add(&m->op, m->others.items[0])) &&
           add(&m->mod, KINO__STR("na"));
}

bool kino__kernel_marks_read(kino__marks_reader *r, uint32_t launch, int64_t forgotten,
                             kino__kernel_marks *m)
{
    m->arguments.count = m->layers.count = m->traces.count = m->modules.count = 0;
    m->sequences.count = m->others.count = m->op.count = m->mod.count = m->numbers.count = 0;
    m->is_backward = false;
    if (!find_ranges(r, launch, forgotten) || !sort_into_bins(r, m))
        return false;
    prune_sequences(&m->sequences);
    for (size_t i = 0; i < m->sequences.count; i++)
        m->is_backward |= kino__marker_is_backward(m->sequences.items[i], r->is_compat);
    return collect_numbers(m) && name_kernel(r, m);
}

bool kino__trace_has_pyprof(const kino__trace *trace)
{
    size_t strings = kino__string_pool_count(&trace->strings);
    for (kino_strid id = 0; id < strings; id++) {
        kino_str text = kino__trace_string(trace, id);
        if (text.size && text.data[0] == '{' &&
            kino__marker_kind_of(text, false) == KINO__MARKER_ARGUMENTS)
            return true;
    }
    return false;
}

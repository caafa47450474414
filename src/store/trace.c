/* trace.c - looking things up in a loaded trace. */
#include "store/trace.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/search.h"
#include "store/args.h"
#include "store/link.h"

kino_status kino__trace_new(kino__trace **out, kino_error *err)
{
    *out = NULL;
    kino__trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return kino__fail_nomem(err);
    kino__string_pool_init(&trace->strings, NULL);
    kino__arena_init(&trace->arena, NULL);
    trace->rank = trace->world_size = KINO_NO_INT;
    kino__mutex_init(&trace->source_lock, KINO__LOCK_SOURCE);
    kino__mutex_init(&trace->work_lock, KINO__LOCK_WORK);
    *out = trace;
    return KINO_OK;
}

struct kino__attachment {
    kino__attachment *older; /* all set before it is published */
    const void *key;
    void *value;
    void (*free_value)(void *value);
};

static const kino__attachment *find_attachment(const kino__trace *trace, const void *key)
{
    /* Acquire pairs with the release below: who sees an attachment sees its value. */
    const kino__attachment *a = __atomic_load_n(&trace->attachments, __ATOMIC_ACQUIRE);
    while (a && a->key != key)
        a = a->older;
    return a;
}

const void *kino__trace_attachment(const kino__trace *trace, const void *key,
                                   void *(*make)(const kino__trace *trace, void *context),
                                   void *context, void (*free_value)(void *value))
{
    const kino__attachment *known = find_attachment(trace, key);
    if (known)
        return known->value;
    /* Lazily made values are no part of a trace's visible value, hence the cast. */
    kino__trace *self = (kino__trace *)(uintptr_t)trace;
    void *value = make(trace, context);
    kino__attachment *fresh = value ? malloc(sizeof *fresh) : NULL;
    if (!fresh) {
        if (value)
            free_value(value);
        return NULL;
    }
    *fresh = (kino__attachment){NULL, key, value, free_value};
    kino__mutex_lock(&self->source_lock);
    known = find_attachment(trace, key);
    if (!known) {
        fresh->older = self->attachments;
        __atomic_store_n(&self->attachments, fresh, __ATOMIC_RELEASE);
    }
    kino__mutex_unlock(&self->source_lock);
    if (!known)
        return value;
    free_value(value); /* another thread was first */
    free(fresh);
    return known->value;
}

static void free_attachments(kino__trace *trace)
{
    for (kino__attachment *a = trace->attachments, *older; a; a = older) {
        older = a->older;
        a->free_value(a->value);
        free(a);
    }
}

void kino__trace_forget_links(kino__trace *trace)
{
    kino__links_free(trace->links);
    trace->links = NULL;
}

void kino__trace_forget(kino__trace *trace)
{
    free_attachments(trace);
    kino__trace_forget_links(trace);
    kino__arg_columns_free(trace->arg_columns);
    trace->attachments = NULL;
    trace->arg_columns = NULL;
}

void kino__trace_free(kino__trace *trace)
{
    if (!trace)
        return;
    kino__trace_forget(trace);
    kino__pages_free(trace->columns, trace->columns_size);
    if (trace->source)
        trace->source->free(trace->source, trace);
    kino__mutex_destroy(&trace->source_lock);
    kino__mutex_destroy(&trace->work_lock);
    kino__vec_deinit(&trace->tracks);
    kino__vec_deinit(&trace->odd);
    kino__vec_deinit(&trace->own_categories);
    kino__vec_deinit(&trace->metadata);
    kino__string_pool_deinit(&trace->strings);
    kino__arena_deinit(&trace->arena);
    if (trace->text)
        trace->text->free(trace->text); /* last: strings may point into it */
    free(trace);
}

static void *drop(void *column, size_t size)
{
    kino__pages_drop(column, size);
    return NULL;
}

void kino__trace_drop_columns(kino__trace *trace, unsigned columns)
{
    size_t count = trace->event_count;
    if (trace->source || !trace->columns)
        return;
    columns &= ~trace->dropped;
    if (columns & KINO__COLUMN_BIND)
        trace->bind = drop(trace->bind, count * sizeof *trace->bind);
    if (columns & KINO__COLUMN_EXTERNAL)
        trace->external = drop(trace->external, count * sizeof *trace->external);
    if (columns & KINO__COLUMN_PLACE)
        trace->place = drop(trace->place, count * sizeof *trace->place);
    trace->dropped |= columns & (KINO__COLUMNS_OF_IDS | KINO__COLUMN_PLACE);
}

bool kino__trace_need(const kino__trace *trace, unsigned columns, kino__pool *pool)
{
    if (!trace->source)
        return !(columns & trace->dropped);
    /* Lazily made columns are no part of a trace's visible value, hence the cast. */
    kino__trace *self = (kino__trace *)(uintptr_t)trace;
    /* Acquire pairs with the release below: who sees the bit sees the column. */
    if ((columns & ~__atomic_load_n(&self->columns_there, __ATOMIC_ACQUIRE)) == 0)
        return true;
    kino__mutex_lock(&self->source_lock);
    unsigned missing = columns & ~self->columns_there;
    self->source->why.code = KINO_OK;
    bool ok = missing == 0 || self->source->load(self->source, self, missing, pool);
    if (ok)
        __atomic_store_n(&self->columns_there, self->columns_there | missing, __ATOMIC_RELEASE);
    kino__mutex_unlock(&self->source_lock);
    return ok;
}

kino_status kino__trace_require(const kino__trace *trace, unsigned columns, kino__pool *pool,
                                kino_error *err)
{
    if (kino__trace_need(trace, columns, pool))
        return KINO_OK;
    if (trace->dropped)
        return kino__fail(err, KINO_ARGUMENT,
                          "the run is no longer usable: a report released its traces");
    kino__trace *self = (kino__trace *)(uintptr_t)trace; /* for the lock */
    kino__mutex_lock(&self->source_lock);
    kino_error why = trace->source->why;
    kino__mutex_unlock(&self->source_lock);
    if (why.code == KINO_OK)
        return kino__fail_nomem(err);
    if (err)
        *err = why;
    return why.code;
}

void kino__trace_release(kino__trace *trace)
{
    kino__trace_forget(trace);
    if (trace->source) {
        kino__pages_free(trace->columns, trace->columns_size);
        trace->columns = NULL;
        trace->columns_size = 0;
        trace->source->free(trace->source, trace);
        trace->columns_there = 0;
    }
    kino__text_rest(trace->text);
}

bool kino__trace_is_released(const kino__trace *trace)
{
    return trace->source && __atomic_load_n(&trace->columns_there, __ATOMIC_ACQUIRE) == 0;
}

kino_str kino__trace_category_text(const kino__trace *trace, uint16_t category)
{
    size_t own = (size_t)category - KINO__CATEGORY_COUNT;
    if (category >= KINO__CATEGORY_COUNT && own < trace->own_categories.count)
        return kino__trace_string(trace, trace->own_categories.items[own]);
    return kino__category_text(category);
}

uint32_t kino__trace_track_of(const kino__trace *trace, uint32_t row)
{
    size_t low =
        KINO__SEARCH_LAST(size_t, i, 0, trace->tracks.count, trace->tracks.items[i].first <= row);
    return (uint32_t)low;
}

const kino__odd *kino__trace_odd(const kino__trace *trace, uint32_t number, kino__odd_kind kind)
{
    const kino__odd *items = trace->odd.items;
    size_t low = KINO__SEARCH(size_t, i, 0, trace->odd.count,
                              items[i].number < number ||
                                  (items[i].number == number && items[i].kind < kind));
    bool found = low < trace->odd.count && items[low].number == number && items[low].kind == kind;
    return found ? &items[low] : NULL;
}

static int64_t widen(const kino__trace *trace, uint32_t row, uint32_t narrow, kino__odd_kind kind)
{
    if (narrow == KINO__BIND_NONE)
        return KINO_NO_INT;
    if (narrow != KINO__BIND_WIDE)
        return narrow;
    const kino__odd *odd = kino__trace_odd(trace, trace->number[row], kind);
    return odd ? (int64_t)odd->a : KINO_NO_INT;
}

int64_t kino__trace_correlation(const kino__trace *trace, uint32_t row)
{
    if (kino__phase_has_id(trace->phase[row]))
        return KINO_NO_INT;
    return widen(trace, row, trace->bind[row], KINO__ODD_WIDE_BIND);
}

int64_t kino__trace_bind_id(const kino__trace *trace, uint32_t row)
{
    if (!kino__phase_has_id(trace->phase[row]))
        return KINO_NO_INT;
    return widen(trace, row, trace->bind[row], KINO__ODD_WIDE_BIND);
}

int64_t kino__trace_external(const kino__trace *trace, uint32_t row)
{
    return widen(trace, row, trace->external[row], KINO__ODD_WIDE_EXTERNAL);
}

kino_str kino__trace_metadata(const kino__trace *trace, const char *key)
{
    kino_str found = {"", 0};
    for (size_t i = 0; i < trace->metadata.count; i++)
        if (kino__str_is(trace->metadata.items[i].key, key))
            found = trace->metadata.items[i].value; /* the last one counts */
    return found;
}

uint32_t *kino__trace_file_order_new(const kino__trace *trace)
{
    uint32_t *rows = malloc((trace->event_count ? trace->event_count : 1) * sizeof *rows);
    uint32_t *by_number =
        malloc((trace->number_count ? trace->number_count : 1) * sizeof *by_number);
    if (!rows || !by_number) {
        free(rows);
        free(by_number);
        return NULL;
    }
    memset(by_number, 0xff, trace->number_count * sizeof *by_number);
    for (uint32_t row = 0; row < trace->event_count; row++)
        by_number[trace->number[row]] = row;
    uint32_t count = 0;
    for (uint32_t number = 0; number < trace->number_count; number++)
        if (by_number[number] != KINO_NO_ROW)
            rows[count++] = by_number[number];
    free(by_number);
    return rows;
}

bool kino__trace_window(const kino__trace *trace, int64_t *start, int64_t *end)
{
    *start = INT64_MAX;
    *end = INT64_MIN;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        int64_t ts = trace->ts[row], dur = trace->dur[row], last;
        if (ts == KINO_NO_TIME || trace->phase[row] == 'M')
            continue;
        if (dur == KINO_NO_TIME || dur < 0 || __builtin_add_overflow(ts, dur, &last))
            last = ts;
        *start = ts < *start ? ts : *start;
        *end = last > *end ? last : *end;
    }
    return *start != INT64_MAX;
}

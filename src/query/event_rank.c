/* event_rank.c - distinct names, categories and labels of all traces, sorted once. */
#include "query/event_rank.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static int compare_pooled(const void *a, const void *b, void *context)
{
    const kino__string_pool *pool = context;
    return kino__str_compare(kino__string_pool_text(pool, *(const kino_strid *)a),
                             kino__string_pool_text(pool, *(const kino_strid *)b));
}

/* The rank of every text in the pool, from 1; NULL when memory is out. */
static uint32_t *rank_pool(const kino__string_pool *pool)
{
    size_t count = kino__string_pool_count(pool);
    kino_strid *sorted = malloc((count + 1) * sizeof *sorted);
    uint32_t *ranks = malloc((count + 1) * sizeof *ranks);
    if (sorted && ranks) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = (kino_strid)i;
        qsort_r(sorted, count, sizeof *sorted, compare_pooled, (void *)(uintptr_t)pool);
        for (size_t i = 0; i < count; i++)
            ranks[sorted[i]] = (uint32_t)i + 1;
        free(sorted);
        return ranks;
    }
    free(sorted);
    free(ranks);
    return NULL;
}

/* The n-th text that names or categories of a trace draw from; the last category is the crowded
 * one. */
static kino_str dictionary_text(const kino__trace *trace, kino__event_column column, size_t i)
{
    if (column == KINO__EVENT_NAME)
        return kino__trace_string(trace, (kino_strid)i);
    return kino__trace_category_text(
        trace, i < kino__rank_category_count(trace) ? (uint16_t)i : KINO__CATEGORY_MANY);
}

static size_t dictionary_count(const kino__trace *trace, kino__event_column column)
{
    return column == KINO__EVENT_NAME ? kino__string_pool_count(&trace->strings)
                                      : kino__rank_category_count(trace) + 1;
}

/* One pool of all traces' texts, ranked; each trace then keeps the rank of its own numbers. */
bool kino__rank_texts(kino__query_context *context, kino__event_column column)
{
    if (column == KINO__EVENT_NAME && context->trace_count == 1) { /* its pool is that pool */
        context->traces[0].name_rank = rank_pool(&context->traces[0].trace->strings);
        return context->traces[0].name_rank != NULL;
    }
    kino__string_pool all;
    kino__string_pool_init(&all, NULL);
    bool done = true;
    for (size_t t = 0; t < context->trace_count && done; t++) {
        const kino__trace *trace = context->traces[t].trace;
        for (size_t i = 0; i < dictionary_count(trace, column) && done; i++)
            done = kino__string_pool_add_borrowed(&all, dictionary_text(trace, column, i)) !=
                   KINO_NO_STRING;
    }
    uint32_t *ranks = done ? rank_pool(&all) : NULL;
    done = ranks != NULL;
    for (size_t t = 0; t < context->trace_count && done; t++) {
        kino__query_trace *qt = &context->traces[t];
        size_t count = dictionary_count(qt->trace, column);
        uint32_t *own = malloc((count + 1) * sizeof *own);
        done = own != NULL;
        for (size_t i = 0; i < count && done; i++)
            own[i] = ranks[kino__string_pool_find(&all, dictionary_text(qt->trace, column, i))];
        if (column == KINO__EVENT_NAME)
            qt->name_rank = own;
        else
            qt->category_rank = own;
    }
    free(ranks);
    kino__string_pool_deinit(&all);
    return done;
}

/* A pid or tid among all of them, in SQL's order: nothing, numbers, texts. */
typedef struct labelled {
    const kino__label *label;
    kino_str text;
    double number;
    size_t trace;
    uint32_t track;
} labelled;

static int label_class(const kino__label *label)
{
    return label->kind == KINO__LABEL_NONE ? 0 : label->kind == KINO__LABEL_TEXT ? 2 : 1;
}

static int compare_labels(const void *a, const void *b)
{
    const labelled *x = a, *y = b;
    int by_class = label_class(x->label) - label_class(y->label);
    if (by_class || label_class(x->label) == 0)
        return by_class;
    if (label_class(x->label) == 2)
        return kino__str_compare(x->text, y->text);
    if (x->label->kind == KINO__LABEL_INT && y->label->kind == KINO__LABEL_INT)
        return (x->label->number > y->label->number) - (x->label->number < y->label->number);
    return (x->number > y->number) - (x->number < y->number);
}

static double label_number(const kino__label *label, kino_str text)
{
    char copy[64] = {0};
    if (label->kind == KINO__LABEL_INT)
        return (double)label->number;
    memcpy(copy, text.data, text.size < sizeof copy ? text.size : sizeof copy - 1);
    return strtod(copy, NULL);
}

static void fill_labels(kino__query_context *context, kino__event_column column, labelled *all)
{
    for (size_t t = 0; t < context->trace_count; t++) {
        const kino__trace *trace = context->traces[t].trace;
        for (uint32_t i = 0; i < trace->tracks.count; i++, all++) {
            const kino__track *track = &trace->tracks.items[i];
            *all = (labelled){.label = column == KINO__EVENT_PID ? &track->pid : &track->tid,
                              .trace = t,
                              .track = i};
            all->text = kino__trace_string(trace, all->label->text);
            all->number = label_number(all->label, all->text);
        }
    }
}

static uint32_t **label_ranks(kino__query_trace *qt, kino__event_column column)
{
    return column == KINO__EVENT_PID ? &qt->pid_rank : &qt->tid_rank;
}

bool kino__rank_labels(kino__query_context *context, kino__event_column column)
{
    size_t count = (size_t)context->track_count;
    labelled *all = malloc((count + 1) * sizeof *all);
    bool done = all != NULL;
    for (size_t t = 0; t < context->trace_count && done; t++) {
        size_t tracks = context->traces[t].trace->tracks.count;
        *label_ranks(&context->traces[t], column) = malloc((tracks + 1) * sizeof(uint32_t));
        done = *label_ranks(&context->traces[t], column) != NULL;
    }
    if (done) {
        fill_labels(context, column, all);
        qsort(all, count, sizeof *all, compare_labels);
        uint32_t rank = 0;
        for (size_t i = 0; i < count; i++) {
            rank += i > 0 && compare_labels(&all[i - 1], &all[i]) != 0;
            (*label_ranks(&context->traces[all[i].trace], column))[all[i].track] = rank;
        }
    }
    free(all);
    return done;
}

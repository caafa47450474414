/* what_if_edits.c - see the header. */
#include "analysis/what_if/what_if_edits.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/distributed/collective_names.h"
#include "base/compare.h"
#include "base/error.h"
#include "base/glob.h"

/* -- words -- */

static kino_str trim(kino_str text)
{
    while (text.size && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = (kino_str){text.data + 1, text.size - 1};
    while (text.size && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

static bool take_word(kino_str *text, const char *word)
{
    size_t size = strlen(word);
    bool is_it = kino__str_starts_with(*text, kino__str_from(word)) &&
                 (text->size == size || text->data[size] == ' ' || text->data[size] == ':');
    size += is_it && text->size > size; /* a blank, or a colon for those who may not use one */
    if (is_it)
        *text = trim((kino_str){text->data + size, text->size - size});
    return is_it;
}

/* "*gemm*=2" */
static bool read_kernel(kino_str text, kino__edit *out)
{
    const char *sign = text.size ? memrchr(text.data, '=', text.size) : NULL;
    char digits[32];
    if (!sign)
        return false;
    kino_str number = trim((kino_str){sign + 1, text.size - (size_t)(sign + 1 - text.data)});
    out->pattern = trim((kino_str){text.data, (size_t)(sign - text.data)});
    if (number.size == 0 || number.size >= sizeof digits || out->pattern.size == 0)
        return false;
    memcpy(digits, number.data, number.size);
    digits[number.size] = '\0';
    char *end;
    out->factor = strtod(digits, &end);
    return *end == '\0' && isfinite(out->factor) && out->factor >= 0.001;
}

static bool read_edit(kino_str text, kino__edit *out)
{
    *out = (kino__edit){.type = KINO__EDIT_LOADER, .pattern = {"", 0}, .factor = 1};
    if (take_word(&text, "kernel")) {
        out->type = KINO__EDIT_KERNEL;
        return read_kernel(text, out);
    }
    if (take_word(&text, "collective")) {
        out->type = KINO__EDIT_COLLECTIVE;
        out->pattern = text;
        return text.size > 0;
    }
    if (take_word(&text, "rank")) {
        out->type = KINO__EDIT_RANK;
        return kino__str_to_int(text, &out->rank);
    }
    if (take_word(&text, "launches"))
        out->type = KINO__EDIT_LAUNCHES;
    else if (!take_word(&text, "loader"))
        return false;
    return text.size == 0;
}

kino_status kino__edits_read(kino_str text, kino__edits *out, kino_error *err)
{
    out->count = 0;
    while (text.size) {
        const char *end = memchr(text.data, ';', text.size);
        kino_str part = {text.data, end ? (size_t)(end - text.data) : text.size};
        size_t used = part.size + (end != NULL);
        text = (kino_str){text.data + used, text.size - used};
        part = trim(part);
        if (part.size == 0)
            continue;
        if (out->count == KINO__MOST_EDITS || !read_edit(part, &out->items[out->count]))
            return kino__fail(err, KINO_ARGUMENT,
                              "invalid edit '%.*s' (expected: kernel PATTERN=FACTOR, collective "
                              "NAME, loader, rank N or launches, separated by ';')",
                              KINO__STR_ARG(part));
        out->count++;
    }
    return KINO_OK;
}

void kino__edit_say(const kino__edit *e, kino__buffer *out)
{
    switch (e->type) {
    case KINO__EDIT_KERNEL:
        kino__buffer_printf(out, "kernel %.*s=%g", KINO__STR_ARG(e->pattern), e->factor);
        break;
    case KINO__EDIT_COLLECTIVE:
        kino__buffer_printf(out, "collective %.*s", KINO__STR_ARG(e->pattern));
        break;
    case KINO__EDIT_LOADER:
        kino__buffer_add(out, KINO__STR("loader"));
        break;
    case KINO__EDIT_RANK:
        kino__buffer_printf(out, "rank %lld", (long long)e->rank);
        break;
    case KINO__EDIT_LAUNCHES:
    case KINO__EDIT_TYPES:
        kino__buffer_add(out, KINO__STR("launches"));
        break;
    }
}

/* -- application -- */

typedef struct applying {
    const kino__replay_facts *facts;
    kino__edited *out;
    uint32_t *first; /* item of each rank; one more at the end */
} applying;

static bool fits(kino_str pattern, kino_str name)
{
    return memchr(pattern.data, '*', pattern.size) ? kino__glob_match(pattern, name)
                                                   : kino__str_contains(name, pattern);
}

static void speed_up(const applying *a, const kino__edit *e)
{
    for (size_t i = 0; i < a->facts->items.count; i++) {
        const kino__replay_item *item = &a->facts->items.items[i];
        if (item->type == KINO__REPLAY_LAUNCH && item->kind == KINO_NO_STRING &&
            item->name != KINO_NO_STRING &&
            fits(e->pattern, kino__string_pool_text(&a->facts->texts, item->name)))
            a->out->device[i] = (int64_t)((double)a->out->device[i] / e->factor);
    }
}

static bool is_meant(const kino__edit *e, kino_str kind)
{
    kino__collective c = kino__collective_read(kind);
    return kino__str_is(e->pattern, "all") || fits(e->pattern, c.operation);
}

static void free_collectives(const applying *a, const kino__edit *e)
{
    for (size_t i = 0; i < a->facts->items.count; i++) {
        uint32_t kind = a->facts->items.items[i].kind;
        if (kind != KINO_NO_STRING && is_meant(e, kino__string_pool_text(&a->facts->texts, kind)))
            a->out->device[i] = 0;
    }
}

static void hide_loader(const applying *a)
{
    for (size_t i = 0; i < a->facts->items.count; i++)
        if (a->facts->items.items[i].type == KINO__REPLAY_LOADER)
            a->out->call[i] = 0;
}

static void free_launches(const applying *a)
{
    for (size_t i = 0; i < a->facts->items.count; i++) {
        const kino__replay_item *item = &a->facts->items.items[i];
        a->out->gap[i] -= item->in_operators < a->out->gap[i] ? item->in_operators : a->out->gap[i];
        if (item->type == KINO__REPLAY_LAUNCH && !item->blocks && item->kind == KINO_NO_STRING)
            a->out->call[i] = 0;
    }
}

/* The same program: item for item of the same type, and as many. */
static bool is_same_program(const applying *a, size_t x, size_t y)
{
    uint32_t count = a->facts->ranks.items[x].item_count;
    if (a->facts->ranks.items[y].item_count != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (a->facts->items.items[a->first[x] + i].type !=
            a->facts->items.items[a->first[y] + i].type)
            return false;
    return true;
}

static void take_median(const applying *a, const size_t *peers, size_t count, size_t rank,
                        int64_t *of_items, int64_t *scratch)
{
    for (uint32_t i = 0; i < a->facts->ranks.items[rank].item_count; i++) {
        for (size_t p = 0; p < count; p++)
            scratch[p] = of_items[a->first[peers[p]] + i];
        qsort(scratch, count, sizeof *scratch, kino__compare_ints);
        of_items[a->first[rank] + i] = (scratch[(count - 1) / 2] + scratch[count / 2]) / 2;
    }
}

static bool equalize(applying *a, const kino__edit *e)
{
    size_t ranks = a->facts->ranks.count, rank = 0, count = 0;
    while (rank < ranks && a->facts->ranks.items[rank].rank != e->rank)
        rank++;
    size_t *peers = malloc((ranks + 1) * sizeof *peers);
    int64_t *scratch = malloc((ranks + 1) * sizeof *scratch);
    for (size_t p = 0; peers && rank < ranks && p < ranks; p++)
        if (p != rank && is_same_program(a, rank, p))
            peers[count++] = p;
    if (peers && scratch && count) {
        take_median(a, peers, count, rank, a->out->gap, scratch);
        take_median(a, peers, count, rank, a->out->call, scratch);
        take_median(a, peers, count, rank, a->out->device, scratch);
    } else {
        a->out->refused =
            rank == ranks ? "there is no such rank" : "no other rank makes the same calls";
    }
    bool ok = peers && scratch;
    free(peers);
    free(scratch);
    return ok;
}

static bool copy_items(const kino__replay_facts *facts, const int64_t *transfer, kino__edited *out)
{
    size_t count = facts->items.count + 1;
    out->gap = malloc(count * sizeof *out->gap);
    out->call = malloc(count * sizeof *out->call);
    out->device = malloc(count * sizeof *out->device);
    if (!out->gap || !out->call || !out->device)
        return false;
    for (size_t i = 0; i < facts->items.count; i++) {
        out->gap[i] = facts->items.items[i].gap;
        out->call[i] = facts->items.items[i].call;
        out->device[i] = transfer[i];
    }
    return true;
}

static bool apply(applying *a, const kino__edit *e)
{
    switch (e->type) {
    case KINO__EDIT_KERNEL:
        speed_up(a, e);
        break;
    case KINO__EDIT_COLLECTIVE:
        free_collectives(a, e);
        break;
    case KINO__EDIT_LOADER:
        hide_loader(a);
        break;
    case KINO__EDIT_RANK:
        return equalize(a, e);
    case KINO__EDIT_LAUNCHES:
        free_launches(a);
        break;
    case KINO__EDIT_TYPES:
        break;
    }
    return true;
}

bool kino__edits_apply(const kino__edits *edits, const kino__replay_facts *facts,
                       const int64_t *transfer, kino__edited *out)
{
    *out = (kino__edited){0};
    applying a = {.facts = facts, .out = out};
    a.first = calloc(facts->ranks.count + 1, sizeof *a.first);
    for (size_t r = 0; a.first && r < facts->ranks.count; r++)
        a.first[r + 1] = a.first[r] + facts->ranks.items[r].item_count;
    bool ok = a.first && copy_items(facts, transfer, out);
    /* rank by rank first: the others' times are those that were measured */
    for (size_t i = 0; ok && i < edits->count; i++)
        ok = edits->items[i].type != KINO__EDIT_RANK || apply(&a, &edits->items[i]);
    for (size_t i = 0; ok && i < edits->count; i++)
        ok = edits->items[i].type == KINO__EDIT_RANK || apply(&a, &edits->items[i]);
    free(a.first);
    return ok;
}

void kino__edited_deinit(kino__edited *edited)
{
    free(edited->gap);
    free(edited->call);
    free(edited->device);
}

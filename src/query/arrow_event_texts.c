/* arrow_event_texts.c - columns of events whose values are texts: codes, and a dictionary for each
 * trace. */
#include <stdlib.h>

#include "base/error.h"
#include "query/arrow_event.h"
#include "query/tables.h"

typedef kino_str (*text_at)(const kino__trace *trace, size_t index);

static kino_str name_at(const kino__trace *trace, size_t index)
{
    return kino__trace_string(trace, (kino_strid)index);
}

/* The last one is for categories that have no number of their own. */
static kino_str category_at(const kino__trace *trace, size_t index)
{
    bool is_known = index < KINO__CATEGORY_COUNT + trace->own_categories.count;
    return is_known ? kino__trace_category_text(trace, (uint16_t)index) : (kino_str){"", 0};
}

/* Letters of phases, by code; consumers want room for one more in the code's 7 bits. */
enum { PHASES = 127 };

static kino_str phase_at(const kino__trace *trace, size_t index)
{
    (void)trace;
    static const char letters[] = "\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27"
                                  "\30\31\32\33\34\35\36\37 !\"#$%&'()*+,-./0123456789:;<=>?@"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
    return (kino_str){&letters[index], 1};
}

/* A phase that is no letter (damage) is none: the codes are copied then. */
static bool take_phases(const kino__event_rows *rows, kino__arrow_column *out)
{
    kino__event_rows copied = *rows;
    size_t events = rows->trace->event_count;
    bool is_odd = events && memchr(rows->trace->phase, PHASES, events);
    copied.forms.must_copy |= is_odd;
    if (!kino__event_take(&copied, rows->trace->phase, 1, out))
        return false;
    uint8_t *codes = (uint8_t *)(uintptr_t)out->buffers[1];
    for (size_t i = 0; is_odd && i < out->length; i++)
        codes[i] = codes[i] == PHASES ? 0 : codes[i];
    return true;
}

static kino_status add_dictionary(const kino__trace *trace, size_t count, text_at text,
                                  kino__arrow_column *out, kino_error *err)
{
    kino__arrow_texts texts;
    kino__arrow_column values = {.length = count};
    if (!kino__arrow_texts_init(&texts, count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        kino__arrow_texts_add(&texts, text(trace, i));
    kino_status st = kino__arrow_texts_finish(&texts, &values, err);
    kino__arrow_texts_deinit(&texts);
    KINO_TRY(st);
    out->dictionary = kino__arrow_array_new(&values);
    return out->dictionary ? KINO_OK : kino__fail_nomem(err);
}

/* Categories with more numbers than 15 bits: codes of 32 bits. */
static bool fill_wide_categories(const kino__event_rows *rows, kino__arrow_column *out)
{
    int32_t *values = kino__event_own(out, sizeof *values);
    size_t known = KINO__CATEGORY_COUNT + rows->trace->own_categories.count;
    for (size_t i = 0; values && i < rows->count; i++) {
        uint16_t id = rows->trace->category[kino__event_row(rows, i)];
        values[i] = id == KINO__CATEGORY_NONE ? -1 : (int32_t)(id < known ? id : known);
    }
    return values && kino__event_mark(out, 4, 0);
}

kino_status kino__event_categories(const kino__event_rows *rows, kino__arrow_column *out,
                                   kino_error *err)
{
    bool ok =
        rows->forms.category_is_wide
            ? fill_wide_categories(rows, out)
            : kino__event_take(rows, rows->trace->category, 2, out) && kino__event_mark(out, 2, 0);
    if (!ok)
        return kino__fail_nomem(err);
    size_t count = KINO__CATEGORY_COUNT + rows->trace->own_categories.count;
    return add_dictionary(rows->trace, count + rows->forms.category_is_wide, category_at, out, err);
}

kino_status kino__event_names(const kino__event_rows *rows, kino__arrow_column *out,
                              kino_error *err)
{
    size_t count = kino__string_pool_count(&rows->trace->strings);
    if (count > INT32_MAX)
        return kino__fail(err, KINO_LIMIT, "more than 2^31 distinct strings in one trace");
    if (!kino__event_take(rows, rows->trace->name, 4, out) || !kino__event_mark(out, 4, 0))
        return kino__fail_nomem(err);
    return add_dictionary(rows->trace, count, name_at, out, err);
}

/* Labels as text: a code for each track. */
static kino_str label_text(const kino__trace *trace, const kino__label *label,
                           char digits[KINO__LABEL_DIGITS])
{
    kino_cell cell = kino__label_cell(trace, label, true, digits);
    return cell.kind == KINO_CELL_TEXT ? cell.value.text : (kino_str){"", 0};
}

/* Equal labels of several tracks have one code: a dictionary has each text once. */
kino_status kino__event_labels(const kino__event_rows *rows, bool is_pid, kino__arrow_column *out,
                               kino_error *err)
{
    const kino__trace *trace = rows->trace;
    kino__string_pool pool;
    char digits[KINO__LABEL_DIGITS];
    kino__string_pool_init(&pool, NULL);
    kino_strid *codes = malloc((trace->tracks.count + 1) * sizeof *codes);
    int32_t *values = kino__event_own(out, sizeof *values);
    bool ok = codes && values;
    for (size_t i = 0; ok && i < trace->tracks.count; i++) {
        const kino__track *track = &trace->tracks.items[i];
        const kino__label *label = is_pid ? &track->pid : &track->tid;
        bool is_none = label->kind == KINO__LABEL_NONE;
        codes[i] = is_none ? KINO_NO_STRING
                           : kino__string_pool_add(&pool, label_text(trace, label, digits));
        ok = is_none || codes[i] != KINO_NO_STRING;
    }
    for (size_t i = 0; ok && i < rows->count; i++)
        values[i] = (int32_t)codes[kino__query_track(rows->qt, kino__event_row(rows, i))];
    kino__arrow_texts texts = {0};
    size_t count = kino__string_pool_count(&pool);
    ok = ok && kino__event_mark(out, 4, 0) && kino__arrow_texts_init(&texts, count);
    for (size_t i = 0; ok && i < count; i++)
        kino__arrow_texts_add(&texts, kino__string_pool_text(&pool, (kino_strid)i));
    kino__arrow_column dictionary = {.length = count};
    kino_status st =
        ok ? kino__arrow_texts_finish(&texts, &dictionary, err) : kino__fail_nomem(err);
    if (st == KINO_OK && !(out->dictionary = kino__arrow_array_new(&dictionary)))
        st = kino__fail_nomem(err);
    kino__arrow_texts_deinit(&texts);
    kino__string_pool_deinit(&pool);
    free(codes);
    return st;
}

kino_status kino__event_phases(const kino__event_rows *rows, kino__arrow_column *out,
                               kino_error *err)
{
    bool ok = take_phases(rows, out) && kino__event_mark(out, 1, 1);
    return ok ? add_dictionary(rows->trace, PHASES, phase_at, out, err) : kino__fail_nomem(err);
}

/* chrome_fast.inc.h - the fast path of the Chrome JSON reader, compiled once per SIMD level.
 *
 * The including file defines KINO__LEVEL and KINO__CHROME_PARSE (the function's name). See
 * chrome_internal.h for the idea. Everything here is speculation that is verified: a function that
 * is not sure says so, and the slow parser decides. Loads may run past the text by less than
 * KINO__CHROME_PAD bytes; nothing behind the end is ever believed. */
#include "reader/chrome_internal.h"
#include "reader/chrome_scan.inc.h"
#include "reader/chrome_simd.h"

/* -- values */

/* Microseconds in decimal as ns. 0 when it is not of a common form (then the slow parser reads
 * it). */
static inline unsigned read_time(const char *p, int64_t *ns)
{
    uint64_t value;
    unsigned n = read_kineto_time(p, &value);
    if (UNLIKELY(n == 0)) { /* whole microseconds, or fewer decimals */
        n = read_digits(p, &value);
        if (n == 0 || value >= UINT64_C(9000000000000000))
            return 0;
        value *= 1000;
        if (p[n] == '.') {
            unsigned a = (unsigned char)(p[n + 1] - '0'), b = (unsigned char)(p[n + 2] - '0');
            if (a > 9)
                return 0;
            value += (uint64_t)a * 100 + (b <= 9 ? b * 10 : 0);
            /* a further digit, or an exponent, fails at the text that follows */
            n += b <= 9 ? 3 : 2;
        }
    }
    *ns = (int64_t)value;
    bool has_zero_first = p[0] == '0' && (unsigned char)(p[1] - '0') <= 9; /* 007 is not JSON */
    return UNLIKELY(has_zero_first) ? 0 : n;
}

/* Length of the string whose inside starts at p, escapes included; SIZE_MAX: none before end. */
static inline size_t string_length(const scan_keys *keys, const char *p, const char *end)
{
    for (const char *at = p; at < end; at += 64) {
        vec64 v = v_load(at);
        uint64_t quote = v_eq(v, keys->quote), backslash = v_eq(v, keys->backslash);
        if (LIKELY(quote && !(backslash & ((quote & -quote) - 1))))
            return (size_t)(at - p) + (size_t)__builtin_ctzll(quote);
        if (backslash) { /* by hand from here on */
            for (at += __builtin_ctzll(backslash); at < end; at++) {
                if (*at == '\\')
                    at++;
                else if (*at == '"')
                    return (size_t)(at - p);
            }
            return SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

/* kino__chrome_hash with vectors. */
static inline uint64_t hash_text(const char *text, size_t size)
{
    uint64_t sum = v_hash(text, (unsigned)(size < 64 ? size : 64));
    for (size_t done = 64; UNLIKELY(done < size); done += 64) {
        size_t left = size - done;
        sum = sum * KINO__HASH_BLOCK + v_hash(text + done, (unsigned)(left < 64 ? left : 64));
    }
    return kino__chrome_hash_finish(sum, size);
}

/* Both may be read to the next 64 bytes. */
static inline bool same_text(const char *a, const char *b, size_t size)
{
    size_t done = 0;
    for (; UNLIKELY(size - done > 64); done += 64)
        if (v_differ(a + done, b + done))
            return false;
    return (v_differ(a + done, b + done) & low_bits((unsigned)(size - done))) == 0;
}

static inline uint32_t intern(kino__chrome_worker *w, const char *text, size_t size,
                              uint64_t position)
{
    uint64_t hash = hash_text(text, size);
    size_t mask = w->slot_count - 1;
    uint32_t tag = (uint32_t)(hash >> 32);
    for (size_t i = (size_t)hash & mask; w->slots[i].id; i = (i + 1) & mask) {
        if (UNLIKELY(w->slots[i].tag != tag))
            continue;
        const kino__part_string *s = &w->part->strings.items[w->slots[i].id - 1];
        if (LIKELY(s->size == size && same_text(text, s->text, size)))
            return w->slots[i].id - 1;
    }
    w->string_position = position * 8;
    return kino__chrome_intern(w, (kino_str){text, size}, hash);
}

/* An integer as a label; its length, 0 when it is none. */
static inline size_t read_label_int(const char *p, kino__label *label)
{
    bool negative = *p == '-';
    uint64_t value;
    unsigned n = read_digits(p + negative, &value);
    if (n == 0 || n == 16 || (p[negative] == '0' && (n > 1 || negative)))
        return 0;
    *label =
        (kino__label){KINO__LABEL_INT, KINO_NO_STRING, negative ? -(int64_t)value : (int64_t)value};
    return n + negative;
}

/* -- events */

static inline bool text_matches(const kino__layout_step *step, const char *p)
{
    /* nearly all: one narrow load instead of a wide one across two cache lines */
    if (LIKELY(step->size <= 16))
        return (v_differ16(p, step->text) & (uint32_t)step->mask[0]) == 0;
    if (v_differ(p, step->text) & step->mask[0])
        return false;
    return LIKELY(step->mask[1] == 0) || (v_differ(p + 64, step->text + 64) & step->mask[1]) == 0;
}

static inline bool memory_matches(const kino__layout_memory *m, const char *p)
{
    return (v_differ(p, m->text) & m->mask) == 0;
}

/* p + n, where n is probably `guess`: written so that the processor may go on from p + guess before
 * it knows n. */
static inline const char *advance_by_guess(const char *p, size_t n, size_t guess)
{
    if (LIKELY(n == guess)) {
        __asm__("" : "+r"(guess)); /* else the compiler sees that both are equal and adds n */
        return p + guess;
    }
    return p + n;
}

typedef struct fast_event {
    int64_t ts, dur;
    const char *name;
    size_t name_size;
    const char *args;
    args_scan scan;
    kino__label pid, tid;
    const char *pid_text, *tid_text; /* of labels in quotes; their size is in the label's number */
    /* where the text of pid and tid starts that is to be remembered */
    const char *track_start;
    const char *track_end;
    const kino__layout_memory *track; /* NULL: look it up */
    uint32_t bind;
    uint32_t ts_size;
    uint32_t known_name; /* or KINO_NO_STRING */
} fast_event;

/* Reads a pid, the text behind it and a tid; step is the pid's. NULL when they do not match. */
static const char *match_track(const scan_keys *keys, const kino__layout_step *step, const char *p,
                               const char *end, fast_event *e)
{
    e->track = NULL;
    e->track_start = p;
    e->pid_text = e->tid_text = NULL;
    for (int i = 0; i < 2; i++) {
        kino__label *label = i == 0 ? &e->pid : &e->tid;
        size_t n;
        if (step[i].op == KINO__OP_PID || step[i].op == KINO__OP_TID) {
            n = read_label_int(p, label);
            if (n == 0)
                return NULL;
        } else {
            n = string_length(keys, p, end);
            if (n == SIZE_MAX)
                return NULL;
            *(i == 0 ? &e->pid_text : &e->tid_text) = p;
            label->number = (int64_t)n;
        }
        p += n;
        if (i == 0) {
            if (!text_matches(&step[1], p))
                return NULL;
            p += step[1].size;
        }
    }
    e->track_end = p;
    if (!text_matches(&step[2], p))
        return NULL;
    return p + step[2].size;
}

/* The same through what the layout remembers; step[2]'s text is taken as well. */
static inline const char *take_track(const scan_keys *keys, const kino__layout *layout,
                                     const kino__layout_step *step, const char *p, const char *end,
                                     fast_event *e)
{
    const kino__layout_memory *m = layout->track;
    if (LIKELY(memory_matches(m, p) || memory_matches(++m, p))) {
        e->track = m;
        return p + m->size;
    }
    return match_track(keys, step, p, end, e);
}

/* Steps 1 to 4 of spans and flows: pid, tid, ts and the text behind. NULL when it does not
 * match. */
static inline __attribute__((always_inline)) const char *
take_track_and_time(const scan_keys *keys, const kino__layout *layout, const char *p,
                    const char *end, fast_event *e)
{
    const kino__layout_step *steps = layout->steps;
    if (UNLIKELY(!text_matches(&steps[1], p)))
        return NULL;
    p = take_track(keys, layout, &steps[1], p + steps[1].size, end, e);
    if (UNLIKELY(!p))
        return NULL;
    unsigned n = read_time(p, &e->ts);
    e->ts_size = n;
    p = advance_by_guess(p, n, layout->ts_size);
    if (UNLIKELY(n == 0 || !text_matches(&steps[4], p)))
        return NULL;
    return p + steps[4].size;
}

/* The place behind a name, which is probably `guess`. NULL when the text ends first. */
static inline const char *take_span_name(const scan_keys *keys, const kino__part *part,
                                         uint32_t guess, const char *p, const char *end,
                                         fast_event *e)
{
    e->name = p;
    e->known_name = guess;
    if (LIKELY(guess != KINO_NO_STRING)) {
        const kino__part_string *s = &part->strings.items[guess];
        if (LIKELY(s->size < (size_t)(end - p) && same_text(p, s->text, s->size) &&
                   p[s->size] == '"'))
            return p + s->size;
        e->known_name = KINO_NO_STRING;
    }
    e->name_size = string_length(keys, p, end);
    return UNLIKELY(e->name_size == SIZE_MAX) ? NULL : p + e->name_size;
}

/* Name, pid, tid, ts, dur, args: the place behind the event, or NULL when it does not match. */
static inline const char *match_span(const scan_keys *keys, const kino__part *part,
                                     const kino__layout *layout, uint32_t name_guess, const char *p,
                                     const char *end, fast_event *e)
{
    const kino__layout_step *steps = layout->steps;
    p = take_span_name(keys, part, name_guess, p + steps[0].size, end, e);
    if (UNLIKELY(!p))
        return NULL;
    p = take_track_and_time(keys, layout, p, end, e);
    if (UNLIKELY(!p))
        return NULL;
    unsigned n = read_time(p, &e->dur);
    p += n;
    if (UNLIKELY(n == 0 || !text_matches(&steps[5], p)))
        return NULL;
    e->args = p + steps[5].size;
    e->bind = KINO__BIND_NONE;
    if (UNLIKELY(!scan_args(keys, e->args, end, &e->scan) || e->scan.is_suspect ||
                 !text_matches(&steps[6], e->scan.end)))
        return NULL;
    return e->scan.end + steps[6].size;
}

static inline const char *read_id(const char *p, uint32_t *bind)
{
    uint64_t value;
    unsigned n = read_digits(p, &value);
    if (UNLIKELY(n == 0 || n == 16 || value >= KINO__BIND_WIDE || (*p == '0' && n > 1)))
        return NULL;
    *bind = (uint32_t)value;
    return p + n;
}

static inline const char *take_name(const scan_keys *keys, const kino__layout *layout,
                                    const char *p, const char *end, fast_event *e)
{
    e->name = p;
    e->known_name = layout->name.value;
    if (LIKELY(memory_matches(&layout->name, p)))
        return p + layout->name.size - 1;
    e->known_name = KINO_NO_STRING;
    e->name_size = string_length(keys, p, end);
    return e->name_size == SIZE_MAX ? NULL : p + e->name_size;
}

/* Id, pid, tid, ts, name. */
static inline const char *match_flow(const scan_keys *keys, const kino__layout *layout,
                                     const char *p, const char *end, fast_event *e)
{
    const kino__layout_step *steps = layout->steps;
    p = read_id(p + steps[0].size, &e->bind);
    p = p ? take_track_and_time(keys, layout, p, end, e) : NULL;
    if (UNLIKELY(!p))
        return NULL;
    p = take_name(keys, layout, p, end, e);
    if (UNLIKELY(!p || !text_matches(&steps[5], p)))
        return NULL;
    e->dur = KINO_NO_TIME;
    e->args = NULL;
    return p + steps[5].size;
}

/* Any order of values. */
static const char *match_event(const scan_keys *keys, const kino__layout *layout, const char *p,
                               const char *end, fast_event *e)
{
    e->ts = e->dur = KINO_NO_TIME;
    e->name = e->args = e->pid_text = e->tid_text = NULL;
    e->bind = KINO__BIND_NONE;
    e->track = NULL;
    e->ts_size = 0;
    e->known_name = KINO_NO_STRING;
    for (const kino__layout_step *step = layout->steps;; step++) {
        if (!text_matches(step, p))
            return NULL;
        p += step->size;
    value_of_step:
        switch ((kino__chrome_op)step->op) {
        case KINO__OP_NAME:
            p = take_name(keys, layout, p, end, e);
            break;
        case KINO__OP_PID:
        case KINO__OP_PID_TEXT:
            if (layout->joins_track) {
                p = take_track(keys, layout, step, p, end, e);
                if (!p)
                    return NULL;
                step += 2; /* its text has been compared */
                goto value_of_step;
            }
            return NULL;
        case KINO__OP_TS: {
            unsigned n = read_time(p, &e->ts);
            e->ts_size = n;
            p = n ? p + n : NULL;
            break;
        }
        case KINO__OP_DUR: {
            unsigned n = read_time(p, &e->dur);
            p = n ? p + n : NULL;
            break;
        }
        case KINO__OP_ARGS:
            e->args = p;
            p = p < end && *p == '{' && scan_args(keys, p, end, &e->scan) && !e->scan.is_suspect
                    ? e->scan.end
                    : NULL;
            break;
        case KINO__OP_ID:
            p = read_id(p, &e->bind);
            break;
        case KINO__OP_END:
            return p;
        default:
            return NULL;
        }
        if (UNLIKELY(!p))
            return NULL;
    }
}

static void remember(kino__layout_memory *m, const char *text, size_t size, uint32_t value,
                     uint32_t flags)
{
    if (size == 0 || size > 64)
        return;
    memcpy(m->text, text, size);
    m->size = (uint32_t)size;
    m->mask = low_bits((unsigned)size);
    m->value = value;
    m->flags = flags;
}

/* A label that was in quotes: digits become a number that remembers its quotes. */
static void finish_text_label(kino__chrome_worker *w, kino__label *label, const char *text,
                              uint32_t flag, uint32_t *flags)
{
    kino_str s = {text, (size_t)label->number};
    *label = kino__chrome_text_label(w, s);
    if (label->kind == KINO__LABEL_INT)
        *flags |= flag;
}

/* The track of an event that none of the layout's memories knew. UINT32_MAX when memory is out. */
static __attribute__((noinline)) uint32_t find_track(kino__chrome_worker *w, kino__layout *layout,
                                                     fast_event *e, uint64_t position,
                                                     uint32_t *flags)
{
    *flags = 0;
    w->string_position = position * 8 + 2; /* behind a name and a category */
    if (e->pid_text)
        finish_text_label(w, &e->pid, e->pid_text, KINO__FLAG_PID_TEXT, flags);
    if (e->tid_text)
        finish_text_label(w, &e->tid, e->tid_text, KINO__FLAG_TID_TEXT, flags);
    uint32_t track = kino__chrome_track(w, e->pid, e->tid, position);
    const kino__layout_step *step = layout->steps;
    while (step->op != KINO__OP_PID && step->op != KINO__OP_PID_TEXT)
        step++;
    /* the text that follows is part of what is remembered */
    layout->track[1] = layout->track[0];
    remember(&layout->track[0], e->track_start,
             (size_t)(e->track_end - e->track_start) + step[2].size, track, *flags);
    return track;
}

/* What phases B, E and M want beyond a record: flags for it. */
static __attribute__((noinline)) uint32_t keep_special(kino__chrome_worker *w,
                                                       const kino__layout *layout,
                                                       uint64_t position, uint64_t size,
                                                       int64_t min_before)
{
    if (layout->phase == 'M')
        w->part->min_ts = min_before;
    else
        w->part->has_pairs = true;
    if (layout->phase != 'E')
        return 0;
    /* the text of an end is written back with its pair */
    kino__chrome_add_odd(w, KINO__ODD_TEXT, position, size - layout->tail);
    return KINO__FLAG_ODD;
}

/* Enters a matched event. False when memory is out. */
static inline bool keep_event(kino__chrome_worker *w, kino__layout *layout,
                              kino__chrome_guess *guess, fast_event *e, const char *start,
                              const char *next)
{
    kino__part *part = w->part;
    uint64_t position = w->origin + (uint64_t)(start - w->base);
    uint32_t name = e->known_name, flags, track;
    if (UNLIKELY(name == KINO_NO_STRING) && e->name) {
        name = intern(w, e->name, e->name_size, position);
        if (UNLIKELY(name == KINO_NO_STRING))
            return false;
        uint8_t damages = part->strings.items[name].damages;
        if (UNLIKELY(damages))
            kino__chrome_count_damages(w, damages, (size_t)(e->name - w->base));
        else if (!layout->is_span) /* names of flows repeat */
            remember(&layout->name, e->name, e->name_size + 1, name, 0);
        guess->name = damages ? KINO_NO_STRING : name;
    }
    uint32_t layout_index = (uint32_t)(layout - w->layouts);
    guess->layout = layout_index;
    w->history = (w->history << 4 ^ name ^ layout_index << 8) & 0xffff;
    if (LIKELY(e->track)) {
        track = e->track->value;
        flags = e->track->flags;
    } else {
        track = find_track(w, layout, e, position, &flags);
        if (UNLIKELY(track == UINT32_MAX))
            return false;
    }
    uint64_t place = 0;
    uint32_t external = KINO__BIND_NONE;
    if (e->args) {
        place = kino__place(w->origin + (uint64_t)(e->args - w->base),
                            (uint64_t)(e->scan.end - e->args));
        external = e->scan.external;
        if (!kino__phase_has_id(layout->phase))
            e->bind = e->scan.bind;
    }
    kino__chrome_count_track(w, track);
    layout->ts_size = e->ts_size;
    int64_t min_before = part->min_ts;
    part->min_ts = e->ts < min_before ? e->ts : min_before;
    if (UNLIKELY(layout->is_special))
        flags |= keep_special(w, layout, position, (uint64_t)(next - start), min_before);
    const kino__record r = {.ts = e->ts,
                            .dur = e->dur,
                            .place = place,
                            .name = name,
                            .bind = e->bind,
                            .external = external,
                            .track = track,
                            .kind = layout->kind | flags
                                                       << 24}; /* the flags are the highest byte */
    return kino__chrome_add_record(w, &r);
}

/* The layout whose first text may fit the event at p. */
static inline kino__layout *find_layout(kino__chrome_worker *w, const char *p)
{
    uint32_t node = w->tree_root;
    for (uint32_t i = w->tree_depth; i; i--)
        node = w->nodes[node].child[(unsigned char)p[w->nodes[node].offset]];
    int32_t layout = w->nodes[node].layout;
    return layout < 0 ? NULL : &w->layouts[layout];
}

enum { PREFETCH_AHEAD = 2048, PREFETCH_LINES = 5 };

/* Takes the event at p if a known layout fits: the place of the next one, or NULL. The guess is
 * tried first: when it is right, the processor need not wait for the tree. */
static inline const char *take_event(kino__chrome_worker *w, const scan_keys *keys, const char *p,
                                     const char *end, bool *failed)
{
    for (int i = 0; i < PREFETCH_LINES; i++) /* hardware stops at the end of each page */
        __builtin_prefetch(p + PREFETCH_AHEAD + (ptrdiff_t)64 * i);
    kino__chrome_guess *guess =
        &w->guesses[w->history * UINT32_C(0x9e3779b1) >> (32 - KINO__GUESS_BITS)];
    kino__layout *layout = &w->layouts[guess->layout];
    if (UNLIKELY(!text_matches(&layout->steps[0], p))) {
        layout = find_layout(w, p);
        if (!layout || !text_matches(&layout->steps[0], p))
            return NULL;
    }
    for (;;) {
        fast_event e;
        const char *next = LIKELY(layout->is_span)
                               ? match_span(keys, w->part, layout, guess->name, p, end, &e)
                           : layout->is_flow ? match_flow(keys, layout, p, end, &e)
                                             : match_event(keys, layout, p, end, &e);
        /* an event follows (the padding behind the text is no brace): commas and ends are the slow
         * parser's */
        if (LIKELY(next && next < end && *next == '{')) {
            *failed = !keep_event(w, layout, guess, &e, p, next);
            return next;
        }
        do {
            if (layout->same_start < 0)
                return NULL;
            layout = &w->layouts[layout->same_start];
        } while (!text_matches(&layout->steps[0], p));
    }
}

kino__chrome_stop KINO__CHROME_PARSE(kino__chrome_worker *w, size_t at, size_t limit,
                                     size_t *at_end)
{
    const scan_keys keys = make_scan_keys();
    const char *end = w->base + w->size;
    for (;;) {
        if (at >= limit) {
            *at_end = at;
            return KINO__STOP_LIMIT;
        }
        if (LIKELY(w->slow_for == 0 && w->layout_count)) {
            const char *p = w->base + at;
            const char *stop = w->base + (limit < w->size ? limit : w->size);
            bool failed = false;
            const char *next;
            while (p < stop && (next = take_event(w, &keys, p, end, &failed))) {
                if (UNLIKELY(failed))
                    return KINO__STOP_FAILED;
                p = next;
                w->hits++;
            }
            at = (size_t)(p - w->base);
            if (p >= stop)
                continue;
            kino__chrome_count_miss(w);
        } else if (w->slow_for) {
            w->slow_for--;
        }
        switch (kino__chrome_slow_step(w, &at)) {
        case KINO__STEP_EVENT:
            break;
        case KINO__STEP_ARRAY_END:
            *at_end = at;
            return KINO__STOP_ARRAY_END;
        case KINO__STEP_INCOMPLETE:
            *at_end = at;
            return KINO__STOP_TEXT_END;
        case KINO__STEP_FAILED:
            return KINO__STOP_FAILED;
        }
    }
}

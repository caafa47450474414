/* chrome_fast.inc.h - the fast path of the Chrome JSON reader, compiled once per SIMD level.
 *
 * The including file defines KINO__LEVEL and KINO__CHROME_PARSE (the function's name). See
 * chrome_internal.h for the idea. Everything here is speculation that is verified: a function that
 * is not sure says so, and the slow parser decides. Loads may run past the text by less than
 * KINO__CHROME_PAD bytes; nothing behind the end is ever believed. */
#include "reader/chrome_internal.h"
#include "reader/chrome_simd.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline uint64_t load64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t load32(const char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* -- arguments: where do they end, are they sound, and which are the two hot numbers? */

typedef struct args_scan {
    const char *end;   /* behind the closing brace */
    uint32_t bind;     /* correlation, or KINO__BIND_NONE */
    uint32_t external; /* External id */
    /* may not be strict JSON, or has hot numbers of an unusual form: the slow parser decides */
    bool is_suspect;
} args_scan;

/* A plain integer of at most 15 digits. */
static inline bool read_hot_int(const char *p, uint32_t *out)
{
    uint64_t value;
    unsigned n = read_digits(p, &value);
    const char *after = p + n;
    if (n == 0 || n == 16 || value >= KINO__BIND_WIDE)
        return false;
    while (kino__is_json_space(*after)) /* the last value of an object; "6 66" is not a number */
        after++;
    *out = (uint32_t)value;
    return *after == ',' || *after == '}';
}

/* A key of eleven letters starts at q: is it one of the two that are hot? False: it is, in a form
 * that is not read here. */
static inline bool take_hot_key(const char *q, args_scan *scan)
{
    static const char keys[] = "correlattionExternall idexternal";
    uint64_t head = load64(q + 1);
    uint32_t tail = load32(q + 8);
    bool is_bind = head == load64(keys) && tail == load32(keys + 8);
    bool is_external =
        (head == load64(keys + 12) || head == load64(keys + 24)) && tail == load32(keys + 20);
    if (!is_bind && !is_external)
        return true;
    uint32_t *out = is_bind ? &scan->bind : &scan->external;
    if (UNLIKELY(*out != KINO__BIND_NONE))
        return false; /* twice */
    q += 13;
    if (UNLIKELY(q[0] != ':' || q[1] != ' ' || kino__is_json_space(q[2]))) {
        while (kino__is_json_space(*q))
            q++;
        if (*q != ':')
            return true; /* a value, not a key */
        do
            q++;
        while (kino__is_json_space(*q));
    } else {
        q += 2;
    }
    return read_hot_int(q, out);
}

/* Letters outside strings are true, false, null or an exponent; anything else is suspect. */
static bool literals_are_fine(const char *block, uint64_t starts)
{
    for (; starts; starts &= starts - 1) {
        const char *p = block + __builtin_ctzll(starts);
        size_t n = memcmp(p, "true", 4) == 0 || memcmp(p, "null", 4) == 0    ? 4
                   : memcmp(p, "false", 5) == 0                              ? 5
                   : (*p | 0x20) == 'e' && (unsigned char)(p[-1] - '0') <= 9 ? 1
                                                                             : 0;
        if (n == 0 || (unsigned char)((p[n] | 0x20) - 'a') < 26)
            return false;
    }
    return true;
}

/* Which bytes stand behind an odd run of backslashes? Runs are rare and short: walk them. */
static uint64_t escaped_bytes(uint64_t backslash, uint64_t *carry)
{
    uint64_t escaped = *carry, rest = backslash & ~*carry;
    *carry = 0;
    while (rest) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        if (i == 63) {
            *carry = 1;
            break;
        }
        escaped |= UINT64_C(2) << i;
        rest &= ~(UINT64_C(3) << i);
    }
    return escaped;
}

typedef struct scan_keys {
    vkey quote, backslash, open, close, comma, colon, space, a, z;
} scan_keys;

static inline scan_keys make_scan_keys(void)
{
    return (scan_keys){v_key('"'), v_key('\\'), v_key('{'), v_key('}'), v_key(','),
                       v_key(':'), v_key(' '),  v_key('a'), v_key('z')};
}

/* A level of braces that is not the same over the last bytes of a block. */
#define LEVEL_VARIES UINT32_MAX

/* Finds the end of the object that starts at p. False: the text ends first.
 * Quote parity tells strings from structure. Only braces decide where the object ends; square
 * brackets are counted to see whether they match. What is not certainly strict JSON is marked as
 * suspect. */
static __attribute__((noinline)) bool scan_args(const scan_keys *keys, const char *p,
                                                const char *end, args_scan *scan)
{
    scan->bind = scan->external = KINO__BIND_NONE;
    uint64_t in_string = 0, escape = 0, after_start = 0, after_open = 0, letter_before = 0;
    uint64_t last_open_quote = 0;
    uint64_t suspect = 0;
    /* of braces; last_level: over the last bytes of the block before */
    unsigned depth = 0, last_level = 0;
    unsigned brackets = 0; /* opened less closed, of both kinds */
    for (; p < end; p += 64) {
        vec64 v = v_load(p);
        uint64_t quote = v_eq(v, keys->quote);
        uint64_t backslash = v_eq(v, keys->backslash);
        if (UNLIKELY(backslash | escape)) {
            quote &= ~escaped_bytes(backslash, &escape);
            suspect |= backslash;
        }
        uint64_t inside = prefix_xor(quote) ^ in_string;
        in_string = -(inside >> 63); /* the top bit in all places */
        vec64 lower = v_lower(v, keys->space);
        uint64_t any_open = v_eq(lower, keys->open) & ~inside;
        uint64_t any_close = v_eq(lower, keys->close) & ~inside;
        uint64_t open = v_eq(v, keys->open) & any_open;
        uint64_t close = v_eq(v, keys->close) & any_close;
        uint64_t comma = v_eq(v, keys->comma) & ~inside;
        uint64_t colon = v_eq(v, keys->colon) & ~inside;
        uint64_t blank = v_at_most(v, keys->space) & ~inside;
        uint64_t bad = v_unprintable(v, keys->space) & ~blank;
        uint64_t letters = v_letters(lower, keys->a, keys->z) & ~inside;
        uint64_t open_quote = quote & inside;
        /* What comes behind a comma, a colon or an opening bracket, white space skipped by carrying
         * through it: not a comma, not a closing bracket (but for an empty pair), and no string
         * starts anywhere else. */
        uint64_t start = comma | colon | any_open;
        uint64_t behind = start << 1 | after_start, run_end;
        after_start = (start >> 63) | __builtin_add_overflow(behind & blank, blank, &run_end);
        behind = (run_end | behind) & ~blank;
        bad |= (behind & (comma | (any_close & ~(any_open << 1 | after_open)))) |
               (open_quote & ~behind);
        after_open = any_open >> 63;
        uint64_t key = open_quote & (quote >> 12);

        uint64_t taken = UINT64_MAX; /* bits of this block that belong to the value */
        unsigned level = depth;
        if (open | close) {
            for (uint64_t c = close; c; c &= c - 1) {
                uint64_t before = (c & -c) - 1;
                unsigned opened = (unsigned)__builtin_popcountll(open & before);
                unsigned closed = (unsigned)__builtin_popcountll(close & before) + 1;
                if (depth + opened == closed) {
                    taken = before << 1 | 1;
                    break;
                }
            }
            depth += (unsigned)__builtin_popcountll(open & taken) -
                     (unsigned)__builtin_popcountll(close & taken);
        }
        brackets += (unsigned)__builtin_popcountll(any_open & taken) -
                    (unsigned)__builtin_popcountll(any_close & taken);
        if (UNLIKELY(letters & taken)) {
            uint64_t starts = letters & ~(letters << 1 | letter_before) & taken;
            if (!literals_are_fine(p, starts))
                suspect = 1;
        }
        letter_before = letters >> 63;
        suspect |= bad & taken;
        /* keys that began in the last block and end in this one */
        uint64_t crossing = last_open_quote & (quote << 52);
        for (; UNLIKELY(crossing); crossing &= crossing - 1) {
            bool is_fine = last_level == 1 ? take_hot_key(p - 64 + __builtin_ctzll(crossing), scan)
                                           : last_level != LEVEL_VARIES;
            suspect |= !is_fine;
        }
        for (key &= taken; key; key &= key - 1) {
            uint64_t before = (key & -key) - 1;
            unsigned here = level + (unsigned)__builtin_popcountll(open & before) -
                            (unsigned)__builtin_popcountll(close & before);
            if (here == 1 && UNLIKELY(!take_hot_key(p + __builtin_ctzll(key), scan)))
                suspect = 1;
        }
        if (depth == 0) {
            scan->end = p + 64 - __builtin_clzll(taken);
            scan->is_suspect = suspect != 0 || brackets != 0;
            return scan->end <= end;
        }
        last_open_quote = open_quote & ~low_bits(52);
        last_level = UNLIKELY((open | close) & ~low_bits(52)) ? LEVEL_VARIES : depth;
    }
    return false;
}

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
        if (UNLIKELY(s->size != size))
            continue;
        size_t done = 0;
        while (done + 64 <= size && v_differ(text + done, s->text + done) == 0)
            done += 64;
        if (done + 64 > size &&
            (v_differ(text + done, s->text + done) & low_bits((unsigned)(size - done))) == 0)
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
    bool name_is_known;
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

/* Name, pid, tid, ts, dur, args: the place behind the event, or NULL when it does not match. */
static inline const char *match_span(const scan_keys *keys, const kino__layout *layout,
                                     const char *p, const char *end, fast_event *e)
{
    const kino__layout_step *steps = layout->steps;
    p += steps[0].size;
    e->name = p;
    e->name_is_known = false;
    e->name_size = string_length(keys, p, end);
    if (UNLIKELY(e->name_size == SIZE_MAX))
        return NULL;
    p += e->name_size;
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
    e->name_is_known = memory_matches(&layout->name, p);
    if (LIKELY(e->name_is_known))
        return p + layout->name.size - 1;
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
    e->name_is_known = false;
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
            p = scan_args(keys, p, end, &e->scan) && !e->scan.is_suspect ? e->scan.end : NULL;
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

/* What phases B, E and M want beyond a record. */
static __attribute__((noinline)) void keep_special(kino__chrome_worker *w,
                                                   const kino__layout *layout, kino__record *r,
                                                   uint64_t position, uint64_t size,
                                                   int64_t min_before)
{
    if (layout->phase == 'M')
        w->part->min_ts = min_before;
    else
        w->part->has_pairs = true;
    if (layout->phase == 'E') { /* the text of an end is written back with its pair */
        r->flags |= KINO__FLAG_ODD;
        w->number--;
        kino__chrome_add_odd(w, KINO__ODD_TEXT, position, size - layout->tail);
        w->number++;
    }
}

/* Enters a matched event. False when memory is out. */
static inline bool keep_event(kino__chrome_worker *w, kino__layout *layout, fast_event *e,
                              const char *start, const char *next)
{
    kino__part *part = w->part;
    uint64_t position = w->origin + (uint64_t)(start - w->base);
    uint32_t name = KINO_NO_STRING, flags, track;
    if (e->name_is_known) {
        name = layout->name.value;
    } else if (LIKELY(e->name)) {
        name = intern(w, e->name, e->name_size, position);
        if (UNLIKELY(name == KINO_NO_STRING))
            return false;
        uint8_t damages = part->strings.items[name].damages;
        if (UNLIKELY(damages))
            kino__chrome_count_damages(w, damages, (size_t)(e->name - w->base));
        else if (!layout->is_span) /* names of flows repeat, those of spans do not */
            remember(&layout->name, e->name, e->name_size + 1, name, 0);
    }
    if (LIKELY(e->track)) {
        track = e->track->value;
        flags = e->track->flags;
    } else {
        track = find_track(w, layout, e, position, &flags);
        if (UNLIKELY(track == UINT32_MAX))
            return false;
    }
    if (UNLIKELY(w->record == w->record_end) && !kino__chrome_more_records(w))
        return false;
    kino__record *r = w->record++;
    r->ts = e->ts;
    r->dur = e->dur;
    r->place = 0;
    r->external = KINO__BIND_NONE;
    if (e->args) {
        r->place = kino__place(w->origin + (uint64_t)(e->args - w->base),
                               (uint64_t)(e->scan.end - e->args));
        r->external = e->scan.external;
        if (!kino__phase_has_id(layout->phase))
            e->bind = e->scan.bind;
    }
    r->name = name;
    r->bind = e->bind;
    r->track = track;
    r->number = w->number++;
    r->kind = layout->kind | flags << 24; /* the flags are the highest byte */
    kino__chrome_count_track(w, track);
    layout->ts_size = e->ts_size;
    int64_t min_before = part->min_ts;
    part->min_ts = e->ts < min_before ? e->ts : min_before;
    if (UNLIKELY(layout->is_special))
        keep_special(w, layout, r, position, (uint64_t)(next - start), min_before);
    return true;
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

/* Takes the event at p if a known layout fits: the place of the next one, or NULL. What came after
 * the last layout is tried first: when that is right, the processor need not wait for the tree. */
static inline const char *take_event(kino__chrome_worker *w, const scan_keys *keys, const char *p,
                                     const char *end, bool *failed)
{
    for (int i = 0; i < PREFETCH_LINES; i++) /* hardware stops at the end of each page */
        __builtin_prefetch(p + PREFETCH_AHEAD + (ptrdiff_t)64 * i);
    kino__layout *last = &w->layouts[w->layout_last];
    kino__layout *layout = &w->layouts[last->next];
    if (UNLIKELY(!text_matches(&layout->steps[0], p))) {
        layout = find_layout(w, p);
        if (!layout || !text_matches(&layout->steps[0], p))
            return NULL;
        last->next = (uint32_t)(layout - w->layouts);
    }
    for (;;) {
        fast_event e;
        const char *next = LIKELY(layout->is_span) ? match_span(keys, layout, p, end, &e)
                           : layout->is_flow       ? match_flow(keys, layout, p, end, &e)
                                                   : match_event(keys, layout, p, end, &e);
        /* an event follows (the padding behind the text is no brace): commas and ends are the slow
         * parser's */
        if (LIKELY(next && next < end && *next == '{')) {
            w->layout_last = (uint32_t)(layout - w->layouts);
            *failed = !keep_event(w, layout, &e, p, next);
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

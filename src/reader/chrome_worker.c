/* chrome_worker.c - what a worker of the Chrome JSON reader keeps: strings, tracks, categories,
 * records. */
#include <stdlib.h>

#include "base/error.h"
#include "reader/chrome_internal.h"

enum { FIRST_SLOTS = 1 << 12, NEAR_SIZE = 512, NEAR_COUNT = 1 << 14 };

kino__chrome_worker *kino__chrome_workers_new(size_t count)
{
    kino__chrome_worker *workers = aligned_alloc(64, count * sizeof *workers);
    if (workers)
        memset(workers, 0, count * sizeof *workers);
    return workers;
}

kino_status kino__chrome_worker_init(kino__chrome_worker *w, kino__part *part, uint32_t index,
                                     kino_error *err)
{
    w->part = part;
    w->part_index = index;
    w->last_track = UINT32_MAX;
    w->no_sign_from = SIZE_MAX;
    for (size_t i = 0; i < sizeof w->guesses / sizeof *w->guesses; i++)
        w->guesses[i].name = KINO_NO_STRING;
    kino__chrome_plant_tree(w);
    kino__map_init(&w->tracks, NULL);
    w->slots = calloc(FIRST_SLOTS, sizeof *w->slots);
    w->slot_count = FIRST_SLOTS;
    return w->slots ? KINO_OK : kino__fail_nomem(err);
}

void kino__chrome_worker_deinit(kino__chrome_worker *w)
{
    free(w->slots);
    w->slots = NULL;
    kino__map_deinit(&w->tracks);
    free(w->track_counts);
    free(w->touched);
    w->track_counts = w->touched = NULL;
}

uint64_t kino__chrome_hash(const char *text, size_t size)
{
    static const uint32_t keys[16] = {KINO__HASH_KEYS};
    uint64_t sum = 0;
    size_t done = 0;
    do {
        uint32_t words[16] = {0};
        size_t part = size - done < 64 ? size - done : 64;
        memcpy(words, text + done, part);
        sum *= KINO__HASH_BLOCK;
        for (int i = 0; i < 16; i += 2)
            sum += (uint64_t)(words[i] + keys[i]) * (words[i + 1] + keys[i + 1]);
        done += 64;
    } while (done < size);
    return kino__chrome_hash_finish(sum, size);
}

/* -- records */

/* Ends the current run, and begins one with the record and the number that come next. */
static void close_run(kino__chrome_worker *w)
{
    kino__part *part = w->part;
    uint32_t count = part->records.count - w->run_first;
    if (count) {
        kino__record_run *run = kino__vec_add(&part->runs);
        if (run)
            *run = (kino__record_run){w->run_first, count, w->run_number};
        else
            part->failed = true;
    }
    w->run_number += count;
    w->run_first += count;
}

void kino__chrome_skip_number(kino__chrome_worker *w)
{
    close_run(w);
    w->run_number++;
}

void kino__chrome_piece_begin(kino__chrome_worker *w, kino__piece *piece)
{
    *piece = (kino__piece){.part = w->part_index,
                           .first_run = (uint32_t)w->part->runs.count,
                           .first_odd = (uint32_t)w->part->odd.count};
    memset(&w->ledger, 0, sizeof w->ledger);
    w->run_first = w->part->records.count;
    w->run_number = 0;
}

void kino__chrome_piece_end(kino__chrome_worker *w, kino__piece *piece)
{
    close_run(w);
    piece->run_count = (uint32_t)w->part->runs.count - piece->first_run;
    piece->odd_count = (uint32_t)w->part->odd.count - piece->first_odd;
    piece->number_count = w->run_number;
    piece->ledger = w->ledger;
    piece->first_count = (uint32_t)w->part->counts.count;
    piece->count_count = (uint32_t)w->touched_count;
    for (size_t i = 0; i < w->touched_count; i++) {
        kino__track_count *slot = kino__vec_add(&w->part->counts);
        if (slot)
            *slot = (kino__track_count){w->touched[i], w->track_counts[w->touched[i]]};
        else
            w->part->failed = true;
        w->track_counts[w->touched[i]] = 0;
    }
    w->touched_count = 0;
}

void kino__chrome_add_odd(kino__chrome_worker *w, kino__odd_kind kind, uint64_t a, uint64_t b)
{
    kino__odd *odd = kino__vec_add(&w->part->odd);
    if (odd)
        *odd = (kino__odd){kino__chrome_number(w), (uint32_t)kind, a, b};
    else
        w->part->failed = true;
}

/* -- strings */

static bool grow_slots(kino__chrome_worker *w)
{
    size_t count = w->slot_count * 2, mask = count - 1;
    kino__string_slot *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t id = 0; id < w->part->strings.count; id++) {
        const kino__part_string *s = &w->part->strings.items[id];
        size_t i = (size_t)s->hash & mask;
        while (slots[i].id)
            i = (i + 1) & mask;
        slots[i] = (kino__string_slot){(uint32_t)(s->hash >> 32), (uint32_t)id + 1};
    }
    free(w->slots);
    w->slots = slots;
    w->slot_count = count;
    return true;
}

/* The text with the padding that vector loads need. */
static const char *copy_padded(kino__arena *arena, kino_str text)
{
    char *copy = kino__arena_alloc(arena, text.size + 64);
    if (!copy)
        return NULL;
    memcpy(copy, text.data, text.size);
    memset(copy + text.size, 0, 64);
    return copy;
}

uint32_t kino__chrome_intern(kino__chrome_worker *w, kino_str text, uint64_t hash)
{
    kino__part *part = w->part;
    size_t mask = w->slot_count - 1, i = (size_t)hash & mask;
    for (; w->slots[i].id; i = (i + 1) & mask) {
        const kino__part_string *s = &part->strings.items[w->slots[i].id - 1];
        if (s->size == text.size && memcmp(s->text, text.data, text.size) == 0)
            return w->slots[i].id - 1;
    }
    bool fits = text.size <= UINT32_MAX && part->strings.count < UINT32_MAX - 2;
    /* A mapped text could be borrowed, but its strings lie far apart: the names that come again and
     * again are compared faster when they are neighbours. */
    bool copies = w->copies_strings || (text.size <= NEAR_SIZE && part->strings.count < NEAR_COUNT);
    const char *kept = !fits ? NULL : copies ? copy_padded(&part->arena, text) : text.data;
    kino__part_string *s = kept ? kino__vec_add(&part->strings) : NULL;
    if (!s) {
        part->failed = true;
        return KINO_NO_STRING;
    }
    uint8_t damages = kino__chrome_check_string(text.data, text.size);
    *s = (kino__part_string){.text = kept,
                             .size = (uint32_t)text.size,
                             .hash = hash,
                             .position = w->string_position++,
                             .is_raw = damages || memchr(text.data, '\\', text.size),
                             .is_borrowed = !copies,
                             .damages = damages};
    w->slots[i] = (kino__string_slot){(uint32_t)(hash >> 32), (uint32_t)part->strings.count};
    uint32_t id = (uint32_t)part->strings.count - 1;
    if (part->strings.count * 2 > w->slot_count && !grow_slots(w)) {
        part->failed = true;
        return KINO_NO_STRING;
    }
    return id;
}

void kino__chrome_count_damages(kino__chrome_worker *w, uint8_t damages, size_t at)
{
    for (unsigned bit = 0; damages >> bit; bit++)
        if (damages >> bit & 1)
            kino__ledger_add(&w->ledger, (kino__damage)(KINO__DAMAGE_CONTROL_CHARACTER + bit),
                             w->origin + at);
}

/* -- categories */

uint16_t kino__chrome_category(kino__chrome_worker *w, kino_str text)
{
    uint16_t known = kino__category_find(text);
    if (known != KINO__CATEGORY_NONE)
        return known;
    kino__part *part = w->part;
    uint32_t id = kino__chrome_intern(w, text, kino__chrome_hash(text.data, text.size));
    for (size_t i = 0; i < part->own_categories.count; i++)
        if (part->own_categories.items[i] == id)
            return (uint16_t)(KINO__CATEGORY_COUNT + i);
    if (part->own_categories.count >= 4096) /* nobody means so many: keep the text with the event */
        return KINO__CATEGORY_MANY;
    kino_strid *slot = kino__vec_add(&part->own_categories);
    if (!slot) {
        part->failed = true;
        return KINO__CATEGORY_MANY;
    }
    *slot = id;
    return (uint16_t)(KINO__CATEGORY_COUNT + part->own_categories.count - 1);
}

/* -- tracks */

kino__label kino__chrome_text_label(kino__chrome_worker *w, kino_str text)
{
    int64_t number;
    /* a plain decimal that would be printed the same way */
    bool is_plain = text.size && text.size < 19 && kino__str_to_int(text, &number) &&
                    (text.data[0] != '0' || text.size == 1) &&
                    !(text.data[0] == '-' && text.data[1] == '0');
    if (is_plain)
        return (kino__label){KINO__LABEL_INT, KINO_NO_STRING, number};
    uint32_t id = kino__chrome_intern(w, text, kino__chrome_hash(text.data, text.size));
    return (kino__label){KINO__LABEL_TEXT, id, 0};
}

/* Room for the counts of one more track. */
static bool grow_counts(kino__chrome_worker *w)
{
    if (w->part->tracks.count < w->track_room)
        return true;
    size_t room = w->track_room * 2 + 64;
    uint32_t *counts = realloc(w->track_counts, room * sizeof *counts);
    if (!counts)
        return false;
    w->track_counts = counts;
    memset(counts + w->track_room, 0, (room - w->track_room) * sizeof *counts);
    uint32_t *touched = realloc(w->touched, room * sizeof *touched);
    if (!touched)
        return false;
    w->touched = touched;
    w->track_room = room;
    return true;
}

uint32_t kino__chrome_track(kino__chrome_worker *w, kino__label pid, kino__label tid,
                            uint64_t position)
{
    kino__part *part = w->part;
    if (w->last_track != UINT32_MAX) {
        const kino__part_track *last = &part->tracks.items[w->last_track];
        if (kino__label_equal(&last->pid, &pid) && kino__label_equal(&last->tid, &tid))
            return w->last_track;
    }
    for (uint64_t key = kino__label_hash(&pid) * 31 + kino__label_hash(&tid);; key++) {
        uint32_t *found = kino__map_put(&w->tracks, key, UINT32_MAX);
        if (!found)
            break;
        if (*found == UINT32_MAX) {
            bool fits = part->tracks.count < UINT32_MAX - 1 && grow_counts(w);
            kino__part_track *track = fits ? kino__vec_add(&part->tracks) : NULL;
            if (!track)
                break;
            *track = (kino__part_track){pid, tid, position};
            *found = (uint32_t)part->tracks.count - 1;
        } else if (!kino__label_equal(&part->tracks.items[*found].pid, &pid) ||
                   !kino__label_equal(&part->tracks.items[*found].tid, &tid)) {
            continue; /* two pairs of labels with one hash: the next key */
        }
        w->last_track = *found;
        return *found;
    }
    part->failed = true;
    return UINT32_MAX;
}

/* ring_image.c - taking the buffers of a recorder in: heads, texts, segments, and what belongs
 * together though it does not stand together. See ring.h. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/search.h"
#include "wire/ring.h"

enum {
    SEGMENTS_MAX = 1 << 22, /* of a buffer: 2^40 bytes */
    ROWS_MAX = 1 << 20,     /* that get a name */
    KEYS_MAX = 4096,        /* of metadata */
};
/* Kineto's: three average months, so that microseconds with three decimals fit a double. */
static const int64_t base_unit_ns = 7889238 * (int64_t)1000000000;

void kino__ring_image_deinit(kino__ring_image *image)
{
    kino__vec_deinit(&image->threads);
    kino__vec_deinit(&image->names);
    kino__vec_deinit(&image->keys);
    kino__vec_deinit(&image->devices);
    kino__vec_deinit(&image->pieces);
    kino__vec_deinit(&image->places);
    kino__vec_deinit(&image->ended);
    kino__map_deinit(&image->row_of);
    kino__vec_deinit(&image->late);
    kino__vec_deinit(&image->rows);
    kino__ring_clock_deinit(&image->clock);
}

/* -- meta */

/* `count` items of `size` bytes at `offset`: how many of them are there. */
static uint32_t items_there(kino_str bytes, uint64_t offset, uint64_t size, uint32_t count)
{
    if (offset > bytes.size || offset % 8)
        return 0;
    uint64_t most = (bytes.size - offset) / size;
    return count < most ? count : (uint32_t)most;
}

static bool read_anchors(kino__ring_image *image, kino_str bytes)
{
    const kino__ring_meta *meta = &image->meta;
    uint32_t bank = meta->anchor_bank % KINO__RING_BANKS;
    uint64_t first =
        meta->anchor_offset + (uint64_t)bank * meta->anchor_capacity * sizeof(kino__ring_anchor);
    uint32_t count = meta->anchor_count[bank];
    count = items_there(bytes, first, sizeof(kino__ring_anchor),
                        count < meta->anchor_capacity ? count : meta->anchor_capacity);
    return kino__ring_clock_init(&image->clock, meta->clock,
                                 (const kino__ring_anchor *)(const void *)(bytes.data + first),
                                 count);
}

static bool read_threads(kino__ring_image *image, kino_str bytes)
{
    const kino__ring_meta *meta = &image->meta;
    uint32_t count =
        items_there(bytes, meta->thread_offset, sizeof(kino__ring_thread), meta->thread_capacity);
    if (!kino__vec_reserve(&image->threads, (size_t)count + 1))
        return false;
    if (count)
        memcpy(image->threads.items, bytes.data + meta->thread_offset,
               count * sizeof(kino__ring_thread));
    image->threads.count = count;
    for (uint32_t i = 0; i < count; i++) {
        kino__ring_thread *thread = &image->threads.items[i];
        thread->name[sizeof thread->name - 1] = '\0';
    }
    return true;
}

kino_status kino__ring_add_meta(kino__ring_image *image, kino_str bytes, kino_error *err)
{
    kino__ring_meta *meta = &image->meta;
    if (bytes.size < KINO__RING_META_SIZE || (uintptr_t)bytes.data % 8 ||
        memcmp(bytes.data, KINO__RING_MAGIC, sizeof meta->magic) != 0)
        return kino__fail(err, KINO_FORMAT, "not a meta file of the recorder");
    memcpy(meta, bytes.data, sizeof *meta);
    if (meta->version == 0 || meta->version > KINO__RING_VERSION)
        return kino__fail(err, KINO_FORMAT,
                          "unsupported buffer version %u (this program supports up to %d)",
                          meta->version, KINO__RING_VERSION);
    meta->host[sizeof meta->host - 1] = meta->process[sizeof meta->process - 1] = '\0';
    if (!read_anchors(image, bytes) || !read_threads(image, bytes))
        return kino__fail_nomem(err);
    return KINO_OK;
}

/* -- texts */

static void add_name(kino__ring_image *image, const kino__ring_text *entry, const kino_str p[4])
{
    if (image->names.count == 0) { /* what unknown ids show */
        kino__ring_name *none = kino__vec_add(&image->names);
        if (none)
            *none = (kino__ring_name){KINO__STR("(name lost)"), {"", 0}, {"", 0}, {"", 0}, 0};
    }
    if (entry->id != image->names.count)
        return; /* ids come in order */
    kino__ring_name *name = kino__vec_add(&image->names);
    if (name)
        *name = (kino__ring_name){p[0], p[1], p[2], p[3], entry->line};
    else
        image->failed = true;
}

static void add_key(kino__ring_image *image, kino_str key, kino_str json)
{
    kino__ring_key *found = NULL;
    for (size_t i = 0; i < image->keys.count && !found; i++)
        if (kino__str_equal(image->keys.items[i].key, key))
            found = &image->keys.items[i];
    if (!found && image->keys.count == KEYS_MAX)
        return;
    if (!found)
        found = kino__vec_add(&image->keys);
    if (found)
        *found = (kino__ring_key){key, json};
    else
        image->failed = true;
}

static void add_text(kino__ring_image *image, const kino__ring_text *entry, const char *at)
{
    kino_str parts[4];
    uint64_t left = entry->size - sizeof *entry;
    for (int i = 0; i < 4; i++) {
        if (entry->sizes[i] > left) {
            image->damaged++;
            return;
        }
        parts[i] = (kino_str){at, entry->sizes[i]};
        at += entry->sizes[i];
        left -= entry->sizes[i];
    }
    if (entry->kind == KINO__TEXT_NAME) {
        add_name(image, entry, parts);
    } else if (entry->kind == KINO__TEXT_METADATA) {
        add_key(image, parts[0], parts[1]);
    } else if (entry->kind == KINO__TEXT_DEVICE) {
        kino_str *device = kino__vec_add(&image->devices);
        if (device)
            *device = parts[1];
        else
            image->failed = true;
    }
}

void kino__ring_add_texts(kino__ring_image *image, kino_str bytes)
{
    size_t at = 0;
    if ((uintptr_t)bytes.data % 8) {
        image->damaged++;
        return;
    }
    while (bytes.size - at >= sizeof(kino__ring_text)) {
        kino__ring_text entry;
        /* pairs with the release of the recorder, which may be adding one */
        entry.size =
            __atomic_load_n((const uint32_t *)(const void *)(bytes.data + at), __ATOMIC_ACQUIRE);
        if (entry.size == 0)
            break;
        if (entry.size < sizeof entry || entry.size > bytes.size - at || entry.size % 8) {
            image->damaged++;
            break;
        }
        memcpy((char *)&entry + 4, bytes.data + at + 4, sizeof entry - 4);
        add_text(image, &entry, bytes.data + at + sizeof entry);
        at += entry.size;
    }
}

/* -- segments */

/* Word by word, because a thread that was in the middle of a record may still finish it. */
static void copy_words(void *to, const char *from, size_t bytes)
{
    uint64_t *target = to;
    const uint64_t *source = (const uint64_t *)(const void *)from;
    for (size_t i = 0; i < bytes / sizeof *target; i++)
        target[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

static void add_piece(kino__ring_image *image, const kino__ring_piece *piece)
{
    kino__ring_piece *to = kino__vec_add(&image->pieces);
    if (to)
        *to = *piece;
    else
        image->failed = true;
}

/* The records before `at` are of a thread that has ended. */
static void add_ended(kino__ring_image *image, const kino__ring_piece *whole, uint32_t first,
                      uint32_t at)
{
    const kino_impl_v1_record *mark = &whole->records[at];
    kino__ring_piece piece = *whole;
    kino__ring_thread *thread = kino__vec_add(&image->ended);
    if (!thread) {
        image->failed = true;
        return;
    }
    *thread = (kino__ring_thread){.state = KINO__THREAD_EXITED,
                                  .owner = (uint32_t)(mark->aux >> 32),
                                  .tid = (uint32_t)mark->aux,
                                  .first_ticks = mark->start,
                                  .exit_ticks = mark->end};
    memcpy(thread->name, mark + 1, sizeof thread->name);
    thread->name[sizeof thread->name - 1] = '\0';
    piece.header.stamp = (uint64_t)thread->owner << 16 | (whole->header.stamp & 0xffff);
    piece.header.tid = thread->tid;
    piece.header.order = mark->text;
    piece.header.taken = mark->start;
    piece.first = first;
    piece.count = at;
    piece.ended = (uint32_t)image->ended.count;
    add_piece(image, &piece);
}

/* A segment that several threads had becomes several pieces; the last is that of the header. */
static void split_segment(kino__ring_image *image, kino__ring_piece *whole)
{
    uint64_t left = whole->header.ended;
    for (uint32_t i = 0; left && i < whole->count; i += 1u + whole->records[i].following) {
        const kino_impl_v1_record *record = &whole->records[i];
        if (record->kind != KINO_IMPL_V1_THREAD)
            continue;
        if (record->following != 1 || i + 1 >= whole->count)
            break;
        add_ended(image, whole, whole->first, i);
        whole->first = i + 2;
        left--;
    }
}

void kino__ring_add_segment(kino__ring_image *image, kino_str bytes)
{
    kino__ring_piece piece = {0};
    if (bytes.size < sizeof piece.header || (uintptr_t)bytes.data % 8) {
        image->damaged++;
        return;
    }
    const uint32_t *count = (const uint32_t *)(const void *)(bytes.data + 8);
    copy_words(&piece.header, bytes.data, sizeof piece.header);
    piece.header.count = __atomic_load_n(count, __ATOMIC_ACQUIRE);
    if (!piece.header.stamp || piece.header.session != image->meta.session)
        return;
    uint64_t room = (bytes.size - sizeof piece.header) / KINO__RING_RECORD_SIZE;
    if (piece.header.index >= SEGMENTS_MAX || piece.header.count > room ||
        piece.header.count > KINO_IMPL_V1_SEGMENT_RECORDS) {
        image->damaged++;
        return;
    }
    piece.records = (const kino_impl_v1_record *)(const void *)(bytes.data + sizeof piece.header);
    piece.count = piece.header.count;
    if (piece.header.ended)
        split_segment(image, &piece);
    add_piece(image, &piece);
}

static int compare_pieces(const void *a, const void *b)
{
    const kino__ring_segment *x = &((const kino__ring_piece *)a)->header;
    const kino__ring_segment *y = &((const kino__ring_piece *)b)->header;
    if (x->stamp >> 16 != y->stamp >> 16)
        return x->stamp >> 16 < y->stamp >> 16 ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    uint32_t first = ((const kino__ring_piece *)a)->first;
    uint32_t second = ((const kino__ring_piece *)b)->first;
    return first < second ? -1 : first > second;
}

static int compare_places(const void *a, const void *b)
{
    const kino__ring_place *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->piece < y->piece ? -1 : x->piece > y->piece;
}

static bool index_pieces(kino__ring_image *image)
{
    if (image->pieces.count > 1)
        qsort(image->pieces.items, image->pieces.count, sizeof *image->pieces.items,
              compare_pieces);
    if (!kino__vec_reserve(&image->places, image->pieces.count + 1))
        return false;
    for (size_t i = 0; i < image->pieces.count; i++) {
        const kino__ring_piece *piece = &image->pieces.items[i];
        image->places.items[image->places.count++] = (kino__ring_place){
            (uint64_t)piece->header.index << KINO__RING_POSITION_BITS | piece->first, (uint32_t)i};
    }
    if (image->places.count > 1)
        qsort(image->places.items, image->places.count, sizeof *image->places.items,
              compare_places);
    return true;
}

uint32_t kino__ring_piece_of(const kino__ring_image *image, uint64_t segment, uint32_t record)
{
    uint64_t wanted = segment << KINO__RING_POSITION_BITS | record;
    /* the first behind it */
    size_t low =
        KINO__SEARCH(size_t, i, 0, image->places.count, image->places.items[i].first <= wanted);
    if (!low)
        return UINT32_MAX;
    uint32_t number = image->places.items[low - 1].piece;
    const kino__ring_piece *piece = &image->pieces.items[number];
    bool is_there = piece->header.index == segment && record < piece->count;
    return is_there ? number : UINT32_MAX;
}

/* -- the first pass */

/* What a reference means: a position, or UINT64_MAX. */
static uint64_t resolve(const kino__ring_image *image, uint64_t reference)
{
    uint32_t record = reference >> 16 & 0xffff;
    uint32_t piece = kino__ring_piece_of(image, reference >> 32, record);
    if (piece == UINT32_MAX ||
        (image->pieces.items[piece].header.stamp & 0xffff) != (reference & 0xffff))
        return UINT64_MAX;
    return (uint64_t)piece << KINO__RING_POSITION_BITS | record;
}

static void add_late(kino__ring_image *image, uint64_t reference, uint64_t at)
{
    uint64_t of = resolve(image, reference);
    if (of == UINT64_MAX)
        return; /* written over meanwhile */
    const kino_impl_v1_record *span = kino__ring_record(image, of);
    if (kino__ring_record(image, at)->kind == KINO_IMPL_V1_END && span->kind == KINO_IMPL_V1_SPAN &&
        kino__ring_end_of(span) == 0)
        image->ended_elsewhere++;
    kino__ring_late *late = kino__vec_add(&image->late);
    if (late)
        *late = (kino__ring_late){of, at};
    else
        image->failed = true;
}

static void add_row(kino__ring_image *image, kino__ring_row row)
{
    kino__ring_row *to = kino__vec_add(&image->rows);
    if (to)
        *to = row;
    else
        image->failed = true;
}

/* Notes the row; true: it was there. A collision of the hash costs a name at worst. */
static bool has_row(kino__ring_image *image, kino__ring_row_kind kind, int64_t pid, int64_t tid)
{
    uint64_t key = kino__hash_u64((uint64_t)pid * 31 + (uint64_t)kind) ^ (uint64_t)tid;
    size_t before = image->row_of.count;
    if (!kino__map_put(&image->row_of, key, 0))
        image->failed = true;
    return image->row_of.count == before;
}

static void add_process_rows(kino__ring_image *image, int64_t pid, bool is_device, uint32_t special)
{
    kino__ring_row row = {.pid = pid, .is_device = is_device, .special = special};
    for (int kind = KINO__ROW_PROCESS_NAME; kind <= KINO__ROW_PROCESS_SORT; kind++) {
        if (special && kind == KINO__ROW_PROCESS_LABELS)
            continue;
        row.kind = (kino__ring_row_kind)kind;
        add_row(image, row);
    }
}

static void add_thread_rows(kino__ring_image *image, kino__ring_row row)
{
    if (image->rows.count > ROWS_MAX || has_row(image, KINO__ROW_THREAD_NAME, row.pid, row.tid))
        return;
    row.kind = KINO__ROW_THREAD_NAME;
    add_row(image, row);
    row.kind = KINO__ROW_THREAD_SORT;
    add_row(image, row);
}

/* The payload of an activity names its row. */
static void note_activity(kino__ring_image *image, const kino_impl_v1_record *record)
{
    kino__ring_activity more;
    memcpy(&more, record + 1, sizeof more);
    uint32_t special = more.flags & (KINO__ACTIVITY_ROW_OVERHEAD | KINO__ACTIVITY_ROW_SYNC |
                                     KINO__ACTIVITY_ROW_WHOLE | KINO__ACTIVITY_ROW_CAPITAL);
    bool is_overhead = special & KINO__ACTIVITY_ROW_OVERHEAD;
    if (image->rows.count > ROWS_MAX)
        return;
    if (!(more.flags & KINO__ACTIVITY_ON_DEVICE) && !is_overhead) {
        add_thread_rows(image, (kino__ring_row){.pid = more.pid, .tid = more.tid});
        return;
    }
    if (!has_row(image, KINO__ROW_PROCESS_NAME, more.pid, 0))
        add_process_rows(image, more.pid, !is_overhead,
                         is_overhead ? KINO__ACTIVITY_ROW_OVERHEAD : 0);
    if (!is_overhead)
        add_thread_rows(
            image, (kino__ring_row){
                       .pid = more.pid, .tid = more.tid, .is_device = true, .special = special});
}

static void see_ticks(kino__ring_image *image, uint64_t ticks)
{
    if (ticks > image->last_ticks)
        image->last_ticks = ticks;
}

static void see_span(kino__ring_image *image, const kino_impl_v1_record *record)
{
    uint64_t end = kino__ring_end_of(record);
    see_ticks(image, end);
    bool is_tail = (record->flags & KINO_IMPL_V1_FLAG_STEP) &&
                   image->meta.state == KINO__RING_STOPPED; /* not an event: ring_event.c */
    if (end == 0 && !is_tail)
        image->open_count++;
}

/* Arguments directly behind their span are found again in place; all others are noted. */
static void scan_piece(kino__ring_image *image, size_t number)
{
    const kino__ring_piece *piece = &image->pieces.items[number];
    uint64_t behind = UINT64_MAX; /* the reference whose arguments may stand here */
    uint64_t base = (uint64_t)number << KINO__RING_POSITION_BITS;
    see_ticks(image, piece->header.taken);
    for (uint32_t i = piece->first; i < piece->count; i += 1u + piece->records[i].following) {
        const kino_impl_v1_record *record = &piece->records[i];
        if (!kino__ring_is_sane(record, piece->count - 1 - i)) {
            image->damaged++;
            if (record->following > piece->count - 1 - i)
                break; /* nobody knows where the next one begins */
            continue;
        }
        if (record->kind == KINO_IMPL_V1_ARG) {
            if (record->aux != behind)
                add_late(image, record->aux, base | i);
            continue;
        }
        behind = UINT64_MAX;
        if (record->kind == KINO_IMPL_V1_END) {
            add_late(image, record->aux, base | i);
            see_ticks(image, record->end);
            continue;
        }
        behind = kino__ring_reference_to(piece, i);
        if (record->kind == KINO_IMPL_V1_SPAN)
            see_span(image, record);
        if (record->kind == KINO_IMPL_V1_ACTIVITY) {
            if (record->following == 1)
                note_activity(image, record);
        } else {
            see_ticks(image, kino__ring_start_of(record));
        }
    }
}

static int compare_late(const void *a, const void *b)
{
    const kino__ring_late *x = a, *y = b;
    if (x->of != y->of)
        return x->of < y->of ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

size_t kino__ring_late_of(const kino__ring_image *image, uint64_t position)
{
    return KINO__SEARCH(size_t, i, 0, image->late.count, image->late.items[i].of < position);
}

/* -- rows of the process */

static const kino__ring_thread *thread_of(const kino__ring_image *image,
                                          const kino__ring_segment *header)
{
    if (header->slot >= image->threads.count)
        return NULL;
    const kino__ring_thread *thread = &image->threads.items[header->slot];
    return thread->owner == header->stamp >> 16 ? thread : NULL;
}

/* Of the pieces of one thread, which stand together: whichever knows it. */
static const kino__ring_thread *find_thread(const kino__ring_image *image, size_t first)
{
    uint64_t owner = image->pieces.items[first].header.stamp >> 16;
    const kino__ring_thread *found = NULL;
    for (size_t i = first;
         !found && i < image->pieces.count && image->pieces.items[i].header.stamp >> 16 == owner;
         i++) {
        const kino__ring_piece *piece = &image->pieces.items[i];
        found =
            piece->ended ? &image->ended.items[piece->ended - 1] : thread_of(image, &piece->header);
    }
    return found;
}

static void add_rows(kino__ring_image *image)
{
    int64_t pid = image->meta.pid;
    (void)has_row(image, KINO__ROW_PROCESS_NAME, pid, 0);
    add_process_rows(image, pid, false, 0);
    for (size_t i = 0; i < image->pieces.count; i++) {
        const kino__ring_segment *header = &image->pieces.items[i].header;
        if (i > 0 && header->stamp >> 16 == image->pieces.items[i - 1].header.stamp >> 16)
            continue;
        add_thread_rows(
            image,
            (kino__ring_row){.pid = pid, .tid = header->tid, .thread = find_thread(image, i)});
    }
}

static void add_session_rows(kino__ring_image *image)
{
    image->head_rows = image->rows.count;
    for (int kind = KINO__ROW_SPAN; kind <= KINO__ROW_WINDOW_END; kind++)
        add_row(image, (kino__ring_row){.kind = (kino__ring_row_kind)kind});
}

kino_status kino__ring_finish(kino__ring_image *image, kino_error *err)
{
    if (image->names.count == 0)
        add_name(image, &(kino__ring_text){.id = UINT32_MAX}, (kino_str[4]){{0}});
    if (image->names.count == 0 || image->failed || !index_pieces(image))
        return kino__fail_nomem(err);
    see_ticks(image, image->meta.start_ticks);
    add_rows(image);
    for (size_t i = 0; i < image->pieces.count; i++)
        scan_piece(image, i);
    if (image->meta.state == KINO__RING_STOPPED && image->meta.stop_ticks)
        image->last_ticks = image->meta.stop_ticks;
    add_session_rows(image);
    if (image->failed)
        return kino__fail_nomem(err);
    image->open_count -=
        image->ended_elsewhere < image->open_count ? image->ended_elsewhere : image->open_count;
    if (image->late.count > 1)
        qsort(image->late.items, image->late.count, sizeof *image->late.items, compare_late);
    size_t hint = 0;
    int64_t start = kino__ring_clock_raw(&image->clock, image->meta.start_ticks, &hint);
    start = (int64_t)((uint64_t)start + (uint64_t)image->clock.real_minus_raw);
    image->base_ns = start > 0 ? start / base_unit_ns * base_unit_ns : 0;
    return KINO_OK;
}

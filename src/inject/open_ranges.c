/* open_ranges.c - the calling thread's part: its open ranges, and the names that it used before.
 *
 * Programs give names as texts, again and again. A thread keeps those of its last ranges by the
 * address of the text and compares only: that is what a push costs beside the recorder's span. All
 * other texts are looked up in the recorder's table.
 *
 * Texts that differ each time would fill that table, so the usual kinds are taken apart: a number
 * at the end is kept as a number ("batch 17"), what PyTorch appends to operators (", seq = 5, op_id
 * = 9, sizes = [[2, 3]]") becomes arguments, long texts become an argument with their begin as
 * name. */
#include "inject/open_ranges.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/inject.h"
#include "tracer/alone.h"
#include "tracer/thread_ring.h"

enum {
    NAME_MAX_BYTES = 160, /* of a name as the recorder gets it */
    NAME_SHORT = 120,     /* what is left of a longer one, and "..." */
    DIGITS_MAX = 18,
    DOMAINS_MAX = 1024,
    DEPTH_FIRST = 32,
    DEPTH_MAX = 1 << 16,
    NAMED_MAX = 256, /* threads that somebody else gave a name */
    NARROW_MAX = 4096,
};

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the thread's, the process's */
static kino__open_ranges no_lane; /* its names are free: load */
__thread kino__open_ranges *kino__lane_mine __attribute__((tls_model("initial-exec"))) = &no_lane;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;
static uint32_t domain_count; /* atomic */

static struct {
    pthread_mutex_t lock;
    struct {
        uint32_t tid;
        char name[32];
    } items[NAMED_MAX];
    uint32_t count;
} named = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* -- lanes */

static void free_lane(void *context)
{
    kino__open_ranges *l = context;
    kino__lane_mine = &no_lane;
    for (uint32_t i = 0; i < l->stack_count; i++)
        free(l->stacks[i].open);
    free(l->stacks);
    free(l->ranges.open);
    free(l);
}

static void free_names(kino__open_ranges *l)
{
    for (int i = 0; i < KINO__LANE_NAMES; i++)
        l->names[i].key = KINO__LANE_FREE;
}

__attribute__((constructor)) static void load(void)
{
    free_names(&no_lane);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, free_lane) == 0;
}

static uint32_t own_tid(void)
{
    return kino__inject_is_quiet() ? kino__quiet_tid() : (uint32_t)syscall(SYS_gettid);
}

static void name_myself(void)
{
    uint32_t tid = own_tid();
    pthread_mutex_lock(&named.lock);
    for (uint32_t i = 0; i < named.count; i++)
        if (named.items[i].tid == tid)
            kino_thread_name(named.items[i].name);
    pthread_mutex_unlock(&named.lock);
}

/* NULL when memory is out. */
static kino__open_ranges *make_lane(void)
{
    (void)pthread_once(&once, make_key);
    kino__open_ranges *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    free_names(l);
    kino__lane_mine = l;
    if (has_key)
        (void)pthread_setspecific(key, l);
    name_myself();
    kino__inject_first_use();
    return l;
}

static kino__open_ranges *get_lane(void)
{
    return kino__lane_mine != &no_lane ? kino__lane_mine : make_lane();
}

static void forget_spans(kino__lane_stack *s)
{
    uint32_t depth = s->beyond ? s->room : s->depth;
    for (uint32_t i = 0; i < depth; i++)
        s->open[i] = (kino__lane_range){0};
}

void kino__inject_forget_lanes(void)
{
    kino__open_ranges *l = kino__lane_mine;
    for (uint32_t i = 0; i < l->stack_count; i++)
        forget_spans(&l->stacks[i]);
    forget_spans(&l->ranges);
    (void)pthread_mutex_init(&named.lock, NULL); /* another thread may have had it */
}

/* -- ranges */

static bool grow_stack(kino__lane_stack *s)
{
    uint32_t room = s->room ? s->room * 2 : DEPTH_FIRST;
    kino__lane_range *open = room <= DEPTH_MAX ? realloc(s->open, room * sizeof *open) : NULL;
    if (!open)
        return false;
    s->open = open;
    s->room = room;
    return true;
}

static kino__lane_stack *make_stack(kino__open_ranges *l, uint32_t domain)
{
    if (domain >= DOMAINS_MAX)
        return NULL;
    kino__lane_stack *stacks = realloc(l->stacks, (domain + 1) * sizeof *stacks);
    if (!stacks)
        return NULL;
    memset(stacks + l->stack_count, 0, (domain + 1 - l->stack_count) * sizeof *stacks);
    l->stacks = stacks;
    l->stack_count = domain + 1;
    return &stacks[domain];
}

static kino__lane_stack *find_stack(uint32_t domain)
{
    kino__open_ranges *l = get_lane();
    if (l && !domain)
        return &l->ranges;
    if (l && domain < l->stack_count)
        return &l->stacks[domain];
    return l ? make_stack(l, domain) : NULL;
}

static uint64_t span_of(const kino__lane_range *range)
{
    return range->segment ? range->stamp << 48 | range->place : range->place;
}

/* Deeper than the stack can be, ranges are counted but have no end. */
int kino__inject_push(uint32_t domain, uint64_t span)
{
    kino__lane_stack *s = find_stack(domain);
    if (!s)
        return -1;
    if (!s->beyond && (s->depth < s->room || grow_stack(s))) {
        s->open[s->depth] = (kino__lane_range){.place = span};
        return (int)s->depth++;
    }
    s->depth = 0;
    return (int)(s->room + s->beyond++);
}

int kino__inject_pop(uint32_t domain)
{
    kino__lane_stack *s = find_stack(domain);
    if (!s || (!s->depth && !s->beyond))
        return -1;
    if (s->beyond) {
        s->depth = --s->beyond ? 0 : s->room;
        return (int)(s->room + s->beyond);
    }
    kino_impl_v1_end(span_of(&s->open[--s->depth]));
    return (int)s->depth;
}

uint64_t kino__inject_top(uint32_t domain)
{
    const kino__lane_stack *s = find_stack(domain);
    return s && s->depth ? span_of(&s->open[s->depth - 1]) : 0;
}

/* -- names */

/* Is there room in the recorder's table, and in the file that goes with the buffers? */
static bool has_room(size_t size)
{
    const kino__tracer *t = kino__tracer_get();
    const kino__capture *c = t ? __atomic_load_n(&t->capture, __ATOMIC_ACQUIRE) : NULL;
    if (!c)
        return false;
    uint64_t used = __atomic_load_n(&t->texts.used, __ATOMIC_RELAXED);
    return __atomic_load_n(&t->texts.name_count, __ATOMIC_RELAXED) < KINO__TEXTS_NAMES_MAX - 4096 &&
           used + size + 65536 / 2 < c->texts_bytes;
}

/* Where PyTorch's additions begin, or the end. */
static size_t name_size(const char *message, size_t size)
{
    const char *const words[] = {", seq = ", ", op_id = ", ", sizes = "};
    size_t first = size;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = memmem(message, first, words[i], strlen(words[i]));
        if (at && at > message)
            first = (size_t)(at - message);
    }
    return first;
}

/* "batch 17": 6 bytes of text and the number; the size itself when there is none. */
static size_t split_number(const char *text, size_t size, uint64_t *number)
{
    size_t at = size;
    uint64_t value = 0, weight = 1;
    while (at > 0 && size - at < DIGITS_MAX && text[at - 1] >= '0' && text[at - 1] <= '9') {
        value += (uint64_t)(text[--at] - '0') * weight;
        weight *= 10;
    }
    while (size - at > 1 && text[at] == '0') /* "007" is 00 and 7 */
        at++;
    if (at == 0 || at == size)
        return size;
    *number = value;
    return at;
}

static const char *category_of(bool is_mark)
{
    return is_mark ? "cpu_instant_event" : "user_annotation";
}

/* Of at most NAME_MAX_BYTES. */
static uint32_t find_text(const char *name, size_t size, bool is_mark)
{
    char text[NAME_MAX_BYTES + 1];
    if (!has_room(size))
        return 0;
    memcpy(text, name, size);
    text[size] = '\0';
    return kino_text(text, category_of(is_mark));
}

static uint32_t find_long(const char *message, bool is_mark)
{
    char text[NAME_SHORT + 4];
    size_t size = NAME_SHORT;
    while (size > 0 && ((unsigned char)message[size] & 0xc0) == 0x80) /* not within a character */
        size--;
    memcpy(text, message, size);
    memcpy(text + size, "...", 4);
    return has_room(size) ? kino_text(text, category_of(is_mark)) : 0;
}

static kino__inject_name look_up(const char *message, bool is_mark)
{
    kino__inject_name name = {.is_mark = is_mark};
    size_t size = strnlen(message, KINO_TEXT_MAX);
    size_t used = is_mark ? size : name_size(message, size);
    name.has_more = used < size;
    if (used > NAME_MAX_BYTES) {
        name.has_more = true;
        name.text = find_long(message, is_mark);
        return name;
    }
    size_t split = is_mark ? used : split_number(message, used, &name.number);
    name.is_numbered = split < used;
    name.text = find_text(message, split, is_mark);
    return name;
}

static uint32_t kind_of(const kino__inject_name *name)
{
    return name->is_numbered ? KINO_IMPL_V1_SPAN | KINO_IMPL_V1_FLAG_NUMBERED << 8
           : name->is_mark   ? KINO_IMPL_V1_INSTANT
                             : KINO_IMPL_V1_SPAN;
}

/* Marks and long texts have another key, so that the short way does not find them. */
static uintptr_t key_of(const char *message, bool is_mark)
{
    return is_mark || !kino__lane_is_short(message, strnlen(message, KINO__LANE_NAME_BYTES) + 1)
               ? ~(uintptr_t)message
               : (uintptr_t)message;
}

static void keep(kino__lane_name *place, const char *message, const kino__inject_name *name)
{
    size_t size = strnlen(message, sizeof place->copy) + 1;
    if (size > sizeof place->copy)
        return;
    uint32_t kind = kind_of(name);
    *place = (kino__lane_name){.key = key_of(message, name->is_mark),
                               .head = kino_impl_v1_head(name->text, kind & 0xff, kind >> 8, 0),
                               .number = name->number,
                               .text = name->text,
                               .size = (uint32_t)size,
                               .rest = size < 32 ? UINT32_MAX << size : 0,
                               .is_mark = name->is_mark,
                               .is_numbered = name->is_numbered};
    memcpy(place->copy, message, size);
}

kino__inject_name kino__inject_find(const char *message, bool is_mark)
{
    kino__open_ranges *l = get_lane();
    kino__lane_name *kept = l ? kino__lane_place(l, message) : NULL;
    if (kept && kept->is_mark == is_mark && kept->key == key_of(message, is_mark) &&
        strcmp(kept->copy, message) == 0)
        return (kino__inject_name){.text = kept->text,
                                   .is_mark = is_mark,
                                   .is_numbered = kept->is_numbered,
                                   .number = kept->number};
    kino__inject_name name = look_up(message, is_mark);
    if (kept && name.text && !name.has_more)
        keep(kept, message, &name);
    return name;
}

/* -- spans */

/* The value behind ", key = ", up to the next one. */
static bool find_value(const char *more, const char *word, char *out, size_t room)
{
    const char *at = strstr(more, word);
    if (!at)
        return false;
    at += strlen(word);
    size_t size = 0;
    for (int depth = 0; at[size] && !(depth == 0 && at[size] == ','); size++)
        depth += at[size] == '[' || at[size] == '('   ? 1
                 : at[size] == ']' || at[size] == ')' ? -1
                                                      : 0;
    if (size == 0 || size >= room)
        return false;
    memcpy(out, at, size);
    out[size] = '\0';
    return true;
}

static void add_more(kino_span span, const char *message)
{
    char value[NARROW_MAX];
    size_t size = strnlen(message, KINO_TEXT_MAX), used = name_size(message, size);
    if (used > NAME_MAX_BYTES || used == size) {
        kino_arg_text(span, "message", message);
        return;
    }
    const char *more = message + used;
    if (find_value(more, ", seq = ", value, sizeof value))
        kino_set_sequence(span, strtoll(value, NULL, 10), 0);
    if (find_value(more, ", sizes = ", value, sizeof value))
        kino_arg_json(span, "Input Dims", value);
    if (find_value(more, ", op_id = ", value, sizeof value))
        KINO_ARG_UINT(span, "op_id", strtoull(value, NULL, 10));
    if (find_value(more, ", input_op_ids = ", value, sizeof value))
        kino_arg_text(span, "input_op_ids", value);
}

uint64_t kino__inject_record(const kino__inject_name *name, const char *message)
{
    kino_impl_v1_site site = {.id = name->text};
    bool has_more = name->has_more;
    if (__builtin_expect(!name->text, 0)) {
        site.id = kino_text("(too many names)", category_of(name->is_mark));
        has_more = true;
    }
    uint64_t span = kino_impl_v1_begin(&site, name->number, kind_of(name));
    if (__builtin_expect(has_more && span, 0))
        add_more((kino_span){span}, message);
    return span;
}

int kino__lane_push_slow(const char *message)
{
    uint64_t span = 0;
    if (!message)
        message = "";
    if (kino__inject_is_on()) {
        kino__inject_name name = kino__inject_find(message, false);
        span = kino__inject_record(&name, message);
    }
    return kino__inject_push(0, span);
}

int kino__lane_pop_slow(void)
{
    return kino__inject_pop(0);
}

void kino__inject_add_domain(uint64_t record, const char *name)
{
    kino_arg_text((kino_span){record}, "domain", name);
}

uint32_t kino__inject_new_domain(void)
{
    return __atomic_add_fetch(&domain_count, 1, __ATOMIC_RELAXED);
}

/* -- names of threads */

enum { NAME_IS_GIVEN = 1 }; /* as ring.c says: the system's name does not count */

static void name_slot(kino__ring_thread *thread, const char *name)
{
    char padded[sizeof thread->name] = "";
    memcpy(padded, name, strnlen(name, sizeof padded - 1));
    __atomic_store_n(&thread->reserved, NAME_IS_GIVEN, __ATOMIC_RELAXED);
    for (size_t i = 0; i < sizeof padded; i += 8) { /* a reader may look meanwhile */
        uint64_t word;
        memcpy(&word, padded + i, 8);
        __atomic_store_n((uint64_t *)(void *)(thread->name + i), word, __ATOMIC_RELAXED);
    }
}

/* The slots of threads that have recorded; a program may have several copies of libkino, each of
 * which has one for the same thread. */
static void name_slots(uint32_t tid, const char *name)
{
    const kino__tracer *t = kino__tracer_get();
    kino__capture *c = t ? __atomic_load_n(&t->capture, __ATOMIC_ACQUIRE) : NULL;
    for (uint32_t i = 0; c && i < KINO__RING_THREADS; i++)
        if (__atomic_load_n(&c->threads[i].state, __ATOMIC_ACQUIRE) != KINO__THREAD_FREE &&
            __atomic_load_n(&c->threads[i].tid, __ATOMIC_RELAXED) == tid)
            name_slot(&c->threads[i], name);
}

void kino__inject_name_thread(uint32_t tid, const char *name)
{
    if (tid == own_tid()) {
        kino_thread_name(name);
        return;
    }
    pthread_mutex_lock(&named.lock);
    uint32_t at = 0;
    while (at < named.count && named.items[at].tid != tid)
        at++;
    if (at < NAMED_MAX) {
        named.items[at].tid = tid;
        size_t size = strnlen(name, sizeof named.items[at].name - 1);
        memcpy(named.items[at].name, name, size);
        named.items[at].name[size] = '\0';
        named.count = at == named.count ? at + 1 : named.count;
        name_slots(tid, named.items[at].name);
    }
    pthread_mutex_unlock(&named.lock);
}

void kino__inject_apply_names(void)
{
    pthread_mutex_lock(&named.lock);
    for (uint32_t i = 0; i < named.count; i++)
        name_slots(named.items[i].tid, named.items[i].name);
    pthread_mutex_unlock(&named.lock);
}

/* -- wide characters */

void kino__inject_narrow(char *out, size_t size, const wchar_t *text)
{
    size_t at = 0;
    for (; text && *text && at + 5 <= size; text++) {
        uint32_t c = (uint32_t)*text;
        if (c < 0x80) {
            out[at++] = (char)c;
        } else if (c < 0x800) {
            out[at++] = (char)(0xc0 | c >> 6);
            out[at++] = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            out[at++] = (char)(0xe0 | c >> 12);
            out[at++] = (char)(0x80 | (c >> 6 & 0x3f));
            out[at++] = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x110000) {
            out[at++] = (char)(0xf0 | c >> 18);
            out[at++] = (char)(0x80 | (c >> 12 & 0x3f));
            out[at++] = (char)(0x80 | (c >> 6 & 0x3f));
            out[at++] = (char)(0x80 | (c & 0x3f));
        }
    }
    out[at] = '\0';
}

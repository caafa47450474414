/* nvtx.c - NVTX: how a copy of it in the program is attached, and what its functions do here.
 *
 * InitializeInjectionNvtx2 is called by each copy (each shared object that includes NVTX) at its
 * first call, perhaps on several threads at once: it fills that copy's function pointers and
 * changes nothing else. Domains and strings belong to the process, so copies share them.
 *
 * Ranges become spans of category user_annotation on the thread that began them, as Kineto has
 * them, marks become instants. Domain, category, payload and colour are arguments. The number of a
 * range that is started and ended is the recorder's own span: no table is needed to end it
 * elsewhere. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/nvtx_abi.h"
#include "inject/open_ranges.h"

enum { NARROW_BYTES = 4096, NVTX_VERSION = 3 };

/* What handles of the program point to; they stay for ever. */
typedef struct domain {
    struct domain *next;
    uint32_t number; /* of the thread's stack of ranges; 0 is the default domain */
    char name[];
} domain;

typedef struct registered {
    struct registered *next;
    uint32_t text; /* atomic: the number in the recorder once it is known, when it is so simple */
    char name[];
} registered;

typedef struct category {
    struct category *next;
    uint32_t domain, number;
    char name[];
} category;

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the process's names */
static struct {
    pthread_mutex_t lock; /* for adding */
    domain *domains;      /* atomic, as the following: read without the lock */
    registered *strings;  /* by hash would be faster; programs register few, and once */
    category *categories;
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* -- names */

static const domain *find_domain(const char *name)
{
    for (domain *d = __atomic_load_n(&names.domains, __ATOMIC_ACQUIRE); d; d = d->next)
        if (strcmp(d->name, name) == 0)
            return d;
    return NULL;
}

static const void *domain_create_a(const char *name)
{
    if (!name)
        name = "";
    const domain *found = find_domain(name);
    if (found)
        return found;
    pthread_mutex_lock(&names.lock);
    found = find_domain(name);
    domain *made = found ? NULL : calloc(1, sizeof *made + strlen(name) + 1);
    if (made) {
        memcpy(made->name, name, strlen(name) + 1);
        made->number = kino__inject_new_domain();
        made->next = names.domains;
        __atomic_store_n(&names.domains, made, __ATOMIC_RELEASE);
        found = made;
    }
    pthread_mutex_unlock(&names.lock);
    return found;
}

static const void *domain_create_w(const wchar_t *name)
{
    char text[NARROW_BYTES];
    kino__inject_narrow(text, sizeof text, name);
    return domain_create_a(text);
}

static const void *register_a(const void *of, const char *name)
{
    (void)of; /* the same text is the same in all domains */
    size_t size = name ? strlen(name) : 0;
    pthread_mutex_lock(&names.lock);
    registered *r = names.strings;
    while (r && strcmp(r->name, name ? name : "") != 0)
        r = r->next;
    if (!r && (r = calloc(1, sizeof *r + size + 1))) {
        if (size)
            memcpy(r->name, name, size + 1);
        r->next = names.strings;
        __atomic_store_n(&names.strings, r, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&names.lock);
    return r;
}

static const void *register_w(const void *of, const wchar_t *name)
{
    char text[NARROW_BYTES];
    kino__inject_narrow(text, sizeof text, name);
    return register_a(of, text);
}

static void name_category(uint32_t in, uint32_t number, const char *name)
{
    size_t size = name ? strlen(name) : 0;
    category *made = size ? calloc(1, sizeof *made + size + 1) : NULL;
    if (!made)
        return;
    made->domain = in;
    made->number = number;
    memcpy(made->name, name, size + 1);
    pthread_mutex_lock(&names.lock);
    made->next = names.categories; /* the last name counts */
    __atomic_store_n(&names.categories, made, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&names.lock);
}

static uint32_t number_of(const void *of)
{
    return of ? ((const domain *)of)->number : 0;
}

static void name_category_a(uint32_t number, const char *name)
{
    name_category(0, number, name);
}

static void domain_name_category_a(const void *of, uint32_t number, const char *name)
{
    name_category(number_of(of), number, name);
}

static void domain_name_category_w(const void *of, uint32_t number, const wchar_t *name)
{
    char text[NARROW_BYTES];
    kino__inject_narrow(text, sizeof text, name);
    name_category(number_of(of), number, text);
}

static void name_category_w(uint32_t number, const wchar_t *name)
{
    domain_name_category_w(NULL, number, name);
}

static void name_thread_a(uint32_t tid, const char *name)
{
    if (name)
        kino__inject_name_thread(tid, name);
}

static void name_thread_w(uint32_t tid, const wchar_t *name)
{
    char text[NARROW_BYTES];
    kino__inject_narrow(text, sizeof text, name);
    kino__inject_name_thread(tid, text);
}

/* -- attributes */

#define HAS_FIELD(attributes, field)                                                               \
    ((attributes)->size >= offsetof(kino__nvtx_attributes, field) + sizeof((attributes)->field))

static void add_category(kino_span span, uint32_t in, uint32_t number)
{
    const category *c = __atomic_load_n(&names.categories, __ATOMIC_ACQUIRE);
    while (c && (c->domain != in || c->number != number))
        c = c->next;
    if (c)
        kino_arg_text(span, "category", c->name);
    else
        KINO_ARG_UINT(span, "category", number);
}

static void add_payload(kino_span span, const kino__nvtx_attributes *a)
{
    switch (a->payload_type) {
    case KINO__NVTX_PAYLOAD_UINT64:
        KINO_ARG_UINT(span, "payload", a->payload.u64);
        break;
    case KINO__NVTX_PAYLOAD_INT64:
        KINO_ARG_INT(span, "payload", a->payload.i64);
        break;
    case KINO__NVTX_PAYLOAD_DOUBLE:
        KINO_ARG_DOUBLE(span, "payload", a->payload.f64);
        break;
    case KINO__NVTX_PAYLOAD_UINT32:
        KINO_ARG_UINT(span, "payload", a->payload.u32);
        break;
    case KINO__NVTX_PAYLOAD_INT32:
        KINO_ARG_INT(span, "payload", a->payload.i32);
        break;
    case KINO__NVTX_PAYLOAD_FLOAT:
        KINO_ARG_DOUBLE(span, "payload", a->payload.f32);
        break;
    default: /* none, or a kind of a newer NVTX */
        break;
    }
}

static void add_arguments(uint64_t record, const domain *of, const kino__nvtx_attributes *a)
{
    kino_span span = {record};
    if (of)
        kino__inject_add_domain(record, of->name);
    if (HAS_FIELD(a, category) && a->category)
        add_category(span, of ? of->number : 0, a->category);
    if (HAS_FIELD(a, payload) && a->payload_type)
        add_payload(span, a);
    if (HAS_FIELD(a, color) && a->color_type == KINO__NVTX_COLOR_ARGB) {
        char color[16];
        (void)snprintf(color, sizeof color, "#%06x", a->color & 0xffffff);
        kino_arg_text(span, "color", color);
    }
}

static uint64_t record_text(const char *message, bool is_mark)
{
    if (!message)
        message = "";
    kino__inject_name name = kino__inject_find(message, is_mark);
    return kino__inject_record(&name, message);
}

/* A registered string is looked up once. */
static uint64_t record_registered(const registered *r, bool is_mark)
{
    kino__inject_name name = {.text = is_mark ? 0 : __atomic_load_n(&r->text, __ATOMIC_RELAXED)};
    if (!name.text) {
        name = kino__inject_find(r->name, is_mark);
        if (!name.is_numbered && !name.has_more && !is_mark)
            __atomic_store_n(&((registered *)(uintptr_t)r)->text, name.text, __ATOMIC_RELAXED);
    }
    return kino__inject_record(&name, r->name);
}

static uint64_t record(const void *of, const kino__nvtx_attributes *a, bool is_mark)
{
    char wide[NARROW_BYTES];
    const char *message = "";
    uint64_t made;
    if (!a || !kino__inject_is_on())
        return 0;
    bool has_message = HAS_FIELD(a, message) && a->message.ascii;
    if (has_message && a->message_type == KINO__NVTX_MESSAGE_REGISTERED) {
        made = record_registered(a->message.registered, is_mark);
    } else {
        if (has_message && a->message_type == KINO__NVTX_MESSAGE_ASCII)
            message = a->message.ascii;
        if (has_message && a->message_type == KINO__NVTX_MESSAGE_WIDE) {
            kino__inject_narrow(wide, sizeof wide, a->message.wide);
            message = wide;
        }
        made = record_text(message, is_mark);
    }
    if (made)
        add_arguments(made, of, a);
    return made;
}

/* -- marks, ranges */

static void domain_mark_ex(const void *of, const kino__nvtx_attributes *a)
{
    (void)record(of, a, true);
}

static void mark_ex(const kino__nvtx_attributes *a)
{
    (void)record(NULL, a, true);
}

static void mark_a(const char *message)
{
    if (kino__inject_is_on())
        (void)record_text(message, true);
}

static void mark_w(const wchar_t *message)
{
    char text[NARROW_BYTES];
    kino__inject_narrow(text, sizeof text, message);
    mark_a(text);
}

static uint64_t domain_start_ex(const void *of, const kino__nvtx_attributes *a)
{
    return record(of, a, false);
}

static uint64_t start_ex(const kino__nvtx_attributes *a)
{
    return record(NULL, a, false);
}

static uint64_t start_a(const char *message)
{
    return kino__inject_is_on() ? record_text(message, false) : 0;
}

static uint64_t start_w(const wchar_t *message)
{
    char text[NARROW_BYTES];
    kino__inject_narrow(text, sizeof text, message);
    return start_a(text);
}

static void end(uint64_t range)
{
    kino_end((kino_span){range});
}

static void domain_end(const void *of, uint64_t range)
{
    (void)of;
    kino_end((kino_span){range});
}

static int domain_push_ex(const void *of, const kino__nvtx_attributes *a)
{
    return kino__inject_push(number_of(of), record(of, a, false));
}

static int push_ex(const kino__nvtx_attributes *a)
{
    return kino__inject_push(0, record(NULL, a, false));
}

static int push_a(const char *message)
{
    return kino__lane_push(message);
}

static int push_w(const wchar_t *message)
{
    char text[NARROW_BYTES];
    kino__inject_narrow(text, sizeof text, message);
    return push_a(text);
}

static int domain_pop(const void *of)
{
    return kino__inject_pop(number_of(of));
}

static int pop(void)
{
    return kino__lane_pop();
}

/* -- attaching */

typedef struct slot {
    unsigned number;
    kino__nvtx_function function;
} slot;

#define IN_CORE(number, ours)  {number, (kino__nvtx_function)(ours)},
#define IN_CORE2(number, ours) {number, (kino__nvtx_function)(ours)},
#define NOWHERE(number, ours)
#define CORE_SLOT(module, number, theirs, ours)  CORE_SLOT_##module(number, ours)
#define CORE_SLOT_CORE                           IN_CORE
#define CORE_SLOT_CORE2                          NOWHERE
#define CORE2_SLOT(module, number, theirs, ours) CORE2_SLOT_##module(number, ours)
#define CORE2_SLOT_CORE                          NOWHERE
#define CORE2_SLOT_CORE2                         IN_CORE2
static const slot core_slots[] = {KINO__NVTX_SLOTS(CORE_SLOT)};
static const slot core2_slots[] = {KINO__NVTX_SLOTS(CORE2_SLOT)};

static bool fill(const kino__nvtx_callbacks *callbacks, int module, const slot *slots, size_t count)
{
    kino__nvtx_function **table = NULL;
    unsigned size = 0;
    if (!callbacks->module_table(module, &table, &size) || !table)
        return false;
    for (size_t i = 0; i < count; i++)
        if (slots[i].number < size && table[slots[i].number])
            *table[slots[i].number] = slots[i].function;
    return true;
}

int kino__nvtx_attach(kino__nvtx_get_table get);
int InitializeInjectionNvtx2(kino__nvtx_get_table get);
extern __typeof__(InitializeInjectionNvtx2) InitializeInjectionNvtx2
    __attribute__((visibility("default"), alias("kino__nvtx_attach")));

/* 0: the program's calls stay empty. */
int kino__nvtx_attach(kino__nvtx_get_table get)
{
    const kino__nvtx_callbacks *callbacks = get ? get(KINO__NVTX_TABLE_CALLBACKS) : NULL;
    const kino__nvtx_version *version = get ? get(KINO__NVTX_TABLE_VERSION) : NULL;
    if (!callbacks || callbacks->size < sizeof *callbacks || !callbacks->module_table)
        return 0;
    if (version && version->size >= sizeof *version && version->set_tool_version)
        version->set_tool_version(NVTX_VERSION);
    bool has_core = fill(callbacks, KINO__NVTX_CORE, core_slots, sizeof core_slots / sizeof(slot));
    bool has_core2 =
        fill(callbacks, KINO__NVTX_CORE2, core2_slots, sizeof core2_slots / sizeof(slot));
    return has_core || has_core2;
}

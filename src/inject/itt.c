/* itt.c - ITT: how its static part in a binary is attached, domains, names, tasks, markers.
 *
 * Tasks become spans of category user_annotation, nested on their thread; overlapped tasks, regions
 * and frames likewise, but found again by their id (itt_open.c). Markers become instants, counters
 * counters (itt_counter.c); pause and resume switch all of it (itt_control.c). What is not listed
 * here stays empty, as it is without a collector. */
#include "inject/itt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the process's names */
static struct {
    pthread_mutex_t lock; /* for adding */
    kino__itt_domain *domains;
    kino__itt_string *strings[1024]; /* by hash */
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* -- domains and strings: they stay for ever */

static void adopt_domain(kino__itt_domain *domain)
{
    if (!domain->extra1)
        domain->extra1 = (int)kino__inject_new_domain();
    domain->flags = 1;
}

static kino__itt_domain *find_domain(const char *name)
{
    kino__itt_domain *d = names.domains;
    while (d && strcmp(d->name, name) != 0)
        d = d->next;
    return d;
}

static kino__itt_domain *domain_create(const char *name)
{
    if (!name)
        return NULL;
    pthread_mutex_lock(&names.lock);
    kino__itt_domain *domain = find_domain(name);
    if (!domain && (domain = calloc(1, sizeof *domain)) && (domain->name = strdup(name))) {
        adopt_domain(domain);
        domain->next = names.domains;
        names.domains = domain;
    } else if (domain && !domain->name) {
        free(domain);
        domain = NULL;
    }
    pthread_mutex_unlock(&names.lock);
    return domain;
}

static kino__itt_string *string_create(const char *text)
{
    if (!text)
        return NULL;
    uint64_t hash = kino__hash_bytes(text, strlen(text));
    pthread_mutex_lock(&names.lock);
    kino__itt_string **first =
        &names.strings[hash % (sizeof names.strings / sizeof *names.strings)];
    kino__itt_string *found = *first;
    while (found && strcmp(found->text, text) != 0)
        found = found->next;
    if (!found && (found = calloc(1, sizeof *found)) && (found->text = strdup(text))) {
        found->next = *first;
        *first = found;
    } else if (found && !found->text) {
        free(found);
        found = NULL;
    }
    pthread_mutex_unlock(&names.lock);
    return found;
}

/* -- spans */

uint64_t kino__itt_record(const kino__itt_domain *domain, kino__itt_string *name, bool is_mark)
{
    if (!kino__inject_is_on() || !name || !name->text)
        return 0;
    kino__inject_name found = {
        .text = is_mark ? 0 : (uint32_t)__atomic_load_n(&name->extra1, __ATOMIC_RELAXED),
        .is_mark = is_mark};
    if (!found.text) {
        found = kino__inject_find(name->text, is_mark);
        if (!found.is_numbered && !found.has_more && !is_mark)
            __atomic_store_n(&name->extra1, (int)found.text, __ATOMIC_RELAXED);
    }
    uint64_t made = kino__inject_record(&found, name->text);
    if (made && domain && domain->name)
        kino__inject_add_domain(made, domain->name);
    return made;
}

uint64_t kino__itt_record_text(const kino__itt_domain *domain, const char *name)
{
    if (!kino__inject_is_on())
        return 0;
    kino__inject_name found = kino__inject_find(name, false);
    uint64_t made = kino__inject_record(&found, name);
    if (made && domain && domain->name)
        kino__inject_add_domain(made, domain->name);
    return made;
}

uint32_t kino__itt_number(const kino__itt_domain *domain)
{
    return domain ? (uint32_t)domain->extra1 : 0;
}

static bool is_none(kino__itt_id id)
{
    return !id.d1 && !id.d2 && !id.d3;
}

static void task_begin(const kino__itt_domain *domain, kino__itt_id id, kino__itt_id parent,
                       kino__itt_string *name)
{
    (void)id;
    (void)parent;
    (void)kino__inject_push(kino__itt_number(domain), kino__itt_record(domain, name, false));
}

static void task_begin_function(const kino__itt_domain *domain, kino__itt_id id,
                                kino__itt_id parent, void *function)
{
    Dl_info info;
    char address[32];
    (void)id;
    (void)parent;
    (void)snprintf(address, sizeof address, "%p", function);
    bool is_known = dladdr(function, &info) && info.dli_sname;
    (void)kino__inject_push(kino__itt_number(domain),
                            kino__itt_record_text(domain, is_known ? info.dli_sname : address));
}

static void task_end(const kino__itt_domain *domain)
{
    (void)kino__inject_pop(kino__itt_number(domain));
}

static void marker(const kino__itt_domain *domain, kino__itt_id id, kino__itt_string *name,
                   int scope)
{
    (void)id;
    (void)scope;
    (void)kino__itt_record(domain, name, true);
}

static void thread_set_name(const char *name)
{
    if (name)
        kino_thread_name(name);
}

/* -- metadata: arguments of the task that is open, or of the one with the id */

static kino_span span_of(const kino__itt_domain *domain, kino__itt_id id)
{
    uint64_t span = is_none(id) ? 0 : kino__itt_find_open(domain, &id);
    return (kino_span){span ? span : kino__inject_top(kino__itt_number(domain))};
}

static void add_value(kino_span span, const char *key, const kino__itt_value *value)
{
    if (value->type == KINO__ITT_FLOAT || value->type == KINO__ITT_DOUBLE)
        kino_arg_double(span, key, value->number.f);
    else if (value->type == KINO__ITT_U64)
        kino_arg_uint(span, key, value->number.u);
    else
        kino_arg_int(span, key, value->number.i);
}

static void add_list(kino_span span, const char *key, int type, size_t count, const void *data)
{
    kino__buffer json = {0};
    kino__buffer_add(&json, KINO__STR("["));
    for (size_t i = 0; i < count && i < 1024; i++) {
        kino__itt_value value = kino__itt_value_at(type, data, i);
        const char *comma = i ? "," : "";
        if (type == KINO__ITT_FLOAT || type == KINO__ITT_DOUBLE)
            kino__buffer_printf(&json, "%s%.17g", comma, value.number.f);
        else if (type == KINO__ITT_U64)
            kino__buffer_printf(&json, "%s%llu", comma, (unsigned long long)value.number.u);
        else
            kino__buffer_printf(&json, "%s%lld", comma, (long long)value.number.i);
    }
    kino__buffer_add(&json, (kino_str){"]", 2}); /* and the zero */
    if (!json.failed)
        kino_arg_json(span, key, json.data);
    kino__buffer_deinit(&json);
}

static void metadata_add(const kino__itt_domain *domain, kino__itt_id id, kino__itt_string *key,
                         int type, size_t count, const void *data)
{
    kino_span span = span_of(domain, id);
    if (!span.id || !key || !key->text || !data || !count || type <= KINO__ITT_UNKNOWN ||
        type > KINO__ITT_DOUBLE)
        return;
    kino__itt_value first = kino__itt_value_at(type, data, 0);
    if (count == 1)
        add_value(span, key->text, &first);
    else
        add_list(span, key->text, type, count, data);
}

static void metadata_str_add(const kino__itt_domain *domain, kino__itt_id id, kino__itt_string *key,
                             const char *data, size_t length)
{
    char text[4096];
    kino_span span = span_of(domain, id);
    if (!span.id || !key || !key->text || !data)
        return;
    size_t size = length ? length : strlen(data); /* 0: terminated */
    size = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    kino_arg_text(span, key->text, text);
}

/* -- attaching */

typedef struct entry {
    const char *name;
    void (*function)(void);
} entry;

#define ENTRY(name, function)                                                                      \
    {                                                                                              \
        "__itt_" name, (void (*)(void))(function)                                                  \
    }
static const entry entries[] = {
    ENTRY("domain_create", domain_create),
    ENTRY("string_handle_create", string_create),
    ENTRY("task_begin", task_begin),
    ENTRY("task_begin_fn", task_begin_function),
    ENTRY("task_end", task_end),
    ENTRY("marker", marker),
    ENTRY("thread_set_name", thread_set_name),
    ENTRY("pause", kino__itt_pause),
    ENTRY("resume", kino__itt_resume),
    ENTRY("metadata_add", metadata_add),
    ENTRY("metadata_str_add", metadata_str_add),
    ENTRY("task_begin_overlapped", kino__itt_open),
    ENTRY("task_end_overlapped", kino__itt_close),
    ENTRY("region_begin", kino__itt_open),
    ENTRY("region_end", kino__itt_close),
    ENTRY("frame_begin_v3", kino__itt_frame_begin),
    ENTRY("frame_end_v3", kino__itt_frame_end),
    ENTRY("frame_submit_v3", kino__itt_frame_submit),
    ENTRY("get_timestamp", kino__itt_timestamp),
    ENTRY("event_create", kino__itt_event_create),
    ENTRY("event_start", kino__itt_event_start),
    ENTRY("event_end", kino__itt_event_end),
    ENTRY("counter_create", kino__itt_counter_create),
    ENTRY("counter_create_typed", kino__itt_counter_create_typed),
    ENTRY("counter_create_v3", kino__itt_counter_create_v3),
    ENTRY("counter_inc", kino__itt_counter_inc),
    ENTRY("counter_inc_delta", kino__itt_counter_inc_delta),
    ENTRY("counter_dec", kino__itt_counter_dec),
    ENTRY("counter_dec_delta", kino__itt_counter_dec_delta),
    ENTRY("counter_set_value", kino__itt_counter_set),
    ENTRY("counter_set_value_v3", kino__itt_counter_set),
};

static void *find_entry(const char *name)
{
    void *found = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].name, name) == 0)
            memcpy(&found, &entries[i].function, sizeof found);
    return found;
}

void kino__itt_attach(kino__itt_global *global, int groups);
void __itt_api_init(kino__itt_global *global, int groups);
extern __typeof__(__itt_api_init) __itt_api_init
    __attribute__((visibility("default"), alias("kino__itt_attach")));

void kino__itt_attach(kino__itt_global *global, int groups)
{
    (void)groups;
    if (!global || memcmp(global->magic, KINO__ITT_MAGIC, sizeof global->magic) != 0)
        return;
    for (kino__itt_function *f = global->functions; f && f->name; f++) {
        void *ours = find_entry(f->name);
        if (f->pointer)
            *f->pointer = ours ? ours : f->null_function;
    }
    for (kino__itt_domain *d = global->domains; d; d = d->next)
        adopt_domain(d);
}

/* Nothing belongs to one static part: all stays until the process ends. */
void kino__itt_detach(kino__itt_global *global);
void __itt_api_fini(kino__itt_global *global);
extern __typeof__(__itt_api_fini) __itt_api_fini
    __attribute__((visibility("default"), alias("kino__itt_detach")));

void kino__itt_detach(kino__itt_global *global)
{
    (void)global;
}

/* registry.c - a hash of processes by pid; see registry.h. */
#include "daemon/registry.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/map.h"

enum { FIRST_BUCKETS = 64, SPARE_DESCRIPTORS = 96 };

void kino__registry_init(kino__registry *r, kino__loop *loop, kino__log *log)
{
    *r = (kino__registry){.loop = loop, .log = log, .user_max = KINO__REGISTRY_USER_MAX};
    kino__users_init(&r->users);
}

/* -- one process */

static void free_process(kino__process *p)
{
    kino__loop_remove_fd(p->registry->loop, p->watch);
    if (p->pidfd >= 0)
        (void)close(p->pidfd);
    kino__vec_deinit(&p->endpoints);
    kino__vec_deinit(&p->contexts);
    free(p->pids);
    free(p->about);
    free(p);
}

void kino__registry_deinit(kino__registry *r)
{
    for (size_t i = 0; i < r->bucket_count; i++)
        while (r->buckets[i]) {
            kino__process *p = r->buckets[i];
            r->buckets[i] = p->next;
            free_process(p);
        }
    free(r->buckets);
    kino__users_deinit(&r->users);
    *r = (kino__registry){0};
}

static kino__process **bucket_of(const kino__registry *r, int32_t pid)
{
    return &r->buckets[kino__hash_u64((uint32_t)pid) & (r->bucket_count - 1)];
}

static void drop(kino__registry *r, kino__process *p, bool has_ended)
{
    KINO__LOG(r->log, KINO__LOG_INFO, has_ended ? "process-ended" : "process-silent",
              kino__log_int("pid", p->id.pid), kino__log_int("uid", p->id.uid),
              kino__log_int("polls", (int64_t)p->polls));
    if (r->gone)
        r->gone(r->context, p, has_ended);
    kino__process **link = bucket_of(r, p->id.pid);
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    r->count--;
    kino__user *user = kino__users_get(&r->users, p->id.uid);
    if (user && user->count)
        user->count--;
    r->endpoint_count -= p->endpoints.count;
    free_process(p);
}

/* A pidfd can be read from as soon as its process has ended. */
static void process_ended(void *context, uint32_t events)
{
    kino__process *p = context;
    (void)events;
    drop(p->registry, p, true);
}

static bool has_ended(const kino__process *p)
{
    if (p->pidfd >= 0) {
        struct pollfd ready = {p->pidfd, POLLIN, 0};
        return poll(&ready, 1, 0) != 0;
    }
    kino__process_identity now;
    return !kino__process_identify(p->id.pid, &now) || now.start_time != p->id.start_time;
}

kino__process *kino__registry_find_quickly(const kino__registry *r, int32_t pid)
{
    if (!r->bucket_count)
        return NULL;
    kino__process *p = *bucket_of(r, pid);
    while (p && p->id.pid != pid)
        p = p->next;
    return p;
}

kino__process *kino__registry_find(kino__registry *r, int32_t pid)
{
    kino__process *p = kino__registry_find_quickly(r, pid);
    if (!p || !has_ended(p))
        return p;
    drop(r, p, true);
    return NULL;
}

/* -- adding */

static bool grow(kino__registry *r)
{
    size_t count = r->bucket_count ? 2 * r->bucket_count : FIRST_BUCKETS;
    kino__process **old = r->buckets, **fresh = calloc(count, sizeof *fresh);
    size_t old_count = r->bucket_count;
    if (!fresh)
        return false;
    r->buckets = fresh;
    r->bucket_count = count;
    for (size_t i = 0; i < old_count; i++)
        while (old[i]) {
            kino__process *p = old[i], **bucket = bucket_of(r, p->id.pid);
            old[i] = p->next;
            p->next = *bucket;
            *bucket = p;
        }
    free(old);
    return true;
}

/* -1: there is none, or it would take what connections and files need. */
static int open_pidfd(int32_t pid)
{
    struct rlimit limit;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd >= 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        (rlim_t)fd + SPARE_DESCRIPTORS >= limit.rlim_cur) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

/* The pidfd is opened first: what is read afterwards is then of the process that it holds, or the
 * process has ended, which shows. */
static kino__process *make_process(kino__registry *r, int32_t pid)
{
    kino__process *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->registry = r;
    p->pidfd = open_pidfd(pid);
    bool is_there = kino__process_identify(pid, &p->id);
    if (is_there && p->pidfd >= 0) {
        is_there = !has_ended(p);
        if (is_there && kino__loop_add_fd(r->loop, p->pidfd, EPOLLIN, process_ended, p, &p->watch,
                                          NULL) != KINO_OK)
            p->watch = NULL; /* the sweep will see it */
    }
    if (!is_there) {
        free_process(p);
        return NULL;
    }
    return p;
}

bool kino__registry_is_full(kino__registry *r, uid_t uid)
{
    const kino__user *user = kino__users_get(&r->users, uid);
    if (r->count < KINO__REGISTRY_PROCESSES_MAX && (uid == 0 || !user || user->count < r->user_max))
        return false;
    KINO__LOG(r->log, KINO__LOG_WARNING, "too-many-processes", kino__log_int("uid", (int32_t)uid),
              kino__log_int("processes", (int64_t)r->count),
              kino__log_int("of_user", user ? (int64_t)user->count : 0));
    return true;
}

kino__process *kino__registry_add(kino__registry *r, int32_t pid, int64_t now_ns)
{
    kino__process *p = pid > 0 ? kino__registry_find(r, pid) : NULL;
    if (p || pid <= 0)
        return p;
    if (r->count >= r->bucket_count && !grow(r))
        return NULL;
    p = make_process(r, pid);
    kino__user *user = p ? kino__users_get(&r->users, p->id.uid) : NULL;
    if (!user || kino__registry_is_full(r, p->id.uid)) {
        if (p)
            free_process(p);
        return NULL;
    }
    user->count++;
    kino__process **bucket = bucket_of(r, pid);
    p->next = *bucket;
    *bucket = p;
    r->count++;
    p->first_seen_ns = p->last_seen_ns = now_ns;
    return p;
}

/* -- what it says */

/* "dynoconfigclient" and a UUID: libkino's says that it is of version 8, libkineto's of 4. */
static bool is_of_libkino(const kino__fabric_address *from)
{
    static const char client[] = KINO__FABRIC_CLIENT;
    const char *path = from->name.sun_path;
    size_t size = from->size - offsetof(struct sockaddr_un, sun_path);
    const char *found = memmem(path, size, client, sizeof client - 1);
    size_t version = sizeof client - 1 + 14;
    return found && (size_t)(path + size - found) > version && found[version] == '8';
}

bool kino__registry_is_second(const kino__process *p, const kino__fabric_address *address)
{
    return p->is_kino && !is_of_libkino(address);
}

static void note_endpoint(kino__registry *r, kino__process *p, const kino__fabric_address *from,
                          int64_t now_ns)
{
    uint64_t address = kino__hash_bytes(&from->name, from->size);
    for (size_t i = 0; i < p->endpoints.count; i++)
        if (p->endpoints.items[i].address == address) {
            p->endpoints.items[i].seen_ns = now_ns;
            return;
        }
    if (p->endpoints.count == KINO__REGISTRY_ENDPOINTS_MAX)
        return;
    kino__endpoint *endpoint = kino__vec_add(&p->endpoints);
    if (!endpoint)
        return;
    *endpoint = (kino__endpoint){address, now_ns, is_of_libkino(from)};
    r->endpoint_count++;
    /* It may be another program by now, in the same process. */
    free(p->about);
    p->about = NULL;
    p->is_kino |= endpoint->is_kino;
}

static void note_pids(kino__process *p, const kino__fabric_poll *poll)
{
    uint32_t count =
        poll->pid_count < KINO__REGISTRY_PIDS_MAX ? poll->pid_count : KINO__REGISTRY_PIDS_MAX;
    size_t size = count * sizeof *p->pids;
    if (p->pid_count == count && memcmp(p->pids, poll->pids, size) == 0)
        return;
    int32_t *pids = realloc(p->pids, size);
    if (!pids)
        return;
    memcpy(pids, poll->pids, size);
    p->pids = pids;
    p->pid_count = count;
}

void kino__registry_poll(kino__registry *r, kino__process *p, const kino__fabric_poll *poll,
                         const kino__fabric_address *address, int64_t now_ns)
{
    bool is_first = p->polls++ == 0;
    p->last_seen_ns = now_ns;
    if (kino__registry_is_second(p, address)) {
        note_endpoint(r, p, address, now_ns);
        return;
    }
    p->job = poll->job;
    p->mask = poll->mask;
    p->has_events |= (poll->mask & KINO__FABRIC_EVENTS) != 0;
    note_pids(p, poll);
    note_endpoint(r, p, address, now_ns);
    if (is_first)
        KINO__LOG(r->log, KINO__LOG_INFO, "process-registered", kino__log_int("pid", p->id.pid),
                  kino__log_int("uid", p->id.uid), kino__log_int("declared", poll->pids[0]),
                  kino__log_int("job", poll->job),
                  kino__log_text("library", p->is_kino ? "libkino" : "libkineto"));
}

static bool has_context(const kino__process *p, const kino__fabric_context *context)
{
    for (size_t i = 0; i < p->contexts.count; i++)
        if (p->contexts.items[i].gpu == context->gpu && p->contexts.items[i].job == context->job)
            return true;
    return false;
}

int32_t kino__registry_add_context(kino__registry *r, kino__process *p,
                                   const kino__fabric_context *context)
{
    int32_t count = 0;
    p->has_events = true;
    if (!has_context(p, context)) {
        kino__registry_context *slot = NULL;
        if (p->contexts.count < KINO__REGISTRY_CONTEXTS_MAX)
            slot = kino__vec_add(&p->contexts);
        if (!slot)
            return -1;
        *slot = (kino__registry_context){context->gpu, context->job};
    }
    for (const kino__process *o = kino__registry_next(r, NULL); o; o = kino__registry_next(r, o))
        count += has_context(o, context);
    return count;
}

/* -- all of them */

kino__process *kino__registry_next(const kino__registry *r, const kino__process *after)
{
    if (after && after->next)
        return after->next;
    size_t i = after ? (size_t)(bucket_of(r, after->id.pid) - r->buckets) + 1 : 0;
    for (; i < r->bucket_count; i++)
        if (r->buckets[i])
            return r->buckets[i];
    return NULL;
}

static void sweep_endpoints(kino__registry *r, kino__process *p, int64_t before_ns)
{
    size_t kept = 0;
    bool has_kino = false;
    for (size_t i = 0; i < p->endpoints.count; i++)
        if (p->endpoints.items[i].seen_ns >= before_ns) {
            has_kino |= p->endpoints.items[i].is_kino;
            p->endpoints.items[kept++] = p->endpoints.items[i];
        }
    r->endpoint_count -= p->endpoints.count - kept;
    p->endpoints.count = kept;
    if (kept)
        p->is_kino = has_kino; /* it may listen no longer, and libkineto still does */
}

void kino__registry_sweep(kino__registry *r, int64_t now_ns, int64_t silence_ns)
{
    for (size_t i = 0; i < r->bucket_count; i++) {
        kino__process *p = r->buckets[i];
        while (p) {
            kino__process *next = p->next;
            sweep_endpoints(r, p, now_ns - silence_ns);
            if (!p->watch && has_ended(p))
                drop(r, p, true);
            else if (!p->target && now_ns - p->last_seen_ns > silence_ns)
                drop(r, p, false);
            p = next;
        }
    }
}

const kino__process_description *kino__registry_about(kino__process *p)
{
    static const kino__process_description nothing = {.command = "?",
                                                      .place = KINO__PROCESS_PLACE_INIT};
    if (!p->about) {
        p->about = malloc(sizeof *p->about);
        if (!p->about)
            return &nothing;
        kino__process_describe(p->id.pid, p->about);
    }
    return p->about;
}

bool kino__registry_has_pid(const kino__process *p, int64_t pid)
{
    bool has = p->id.pid == pid;
    for (uint32_t i = 0; i < p->pid_count && !has; i++)
        has = p->pids[i] == pid;
    return has;
}

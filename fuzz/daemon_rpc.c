/* daemon_rpc.c - any bytes as a question to the daemon, from root, a user and nobody known: the
 * answer is one JSON object, or none; nobody but root and the owner gets a request going, and what
 * a process would be told has only known keys in it. First byte: who asks, and over what. */
#include <stdlib.h>
#include <unistd.h>

#include "daemon/access.h"
#include "daemon/daemon_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

/* Each line of a text is a key that is known. */
static void check_text(kino_str text)
{
    kino__buffer rebuilt = {0};
    kino__config_rebuild(text, true, &rebuilt);
    const char *id = text.size ? memmem(text.data, text.size, "REQUEST_TRACE_ID=kino-", 22) : NULL;
    require(id && !rebuilt.failed && (size_t)(id - text.data) == rebuilt.size &&
            (rebuilt.size == 0 || memcmp(rebuilt.data, text.data, rebuilt.size) == 0));
    kino__buffer_deinit(&rebuilt);
}

static void add_process(kino__daemon *d)
{
    kino__process *p = kino__registry_add(&d->registry, getpid(), 0);
    kino__fabric_poll *poll = calloc(1, sizeof *poll);
    kino__fabric_address address;
    require(p && poll &&
            kino__fabric_address_make(NULL, "dynoconfigclient", &address, NULL) == KINO_OK);
    poll->mask = KINO__FABRIC_ACTIVITIES;
    poll->pid_count = 1;
    poll->pids[0] = 7;
    kino__registry_poll(&d->registry, p, poll, &address, 0);
    free(poll);
}

static void ask(kino__daemon *d, uint8_t how, kino_str body)
{
    static const uid_t users[] = {0, 12345, KINO__NOBODY, 0};
    kino__arena arena;
    kino_error err;
    const kino__json_in *root;
    const kino__json_in_limits wide = {.size = 1 << 24};
    kino__buffer answer = {0};
    uid_t uid = users[how & 3];
    kino__arena_init(&arena, NULL);
    if (kino__rpc_answer(d, body, uid, how & 4, &answer)) {
        require(kino__json_in_parse(kino__buffer_str(&answer), &wide, &arena, &root, &err) ==
                KINO_OK);
        require(root->kind == KINO__JSON_IN_OBJECT);
    }
    require(d->requests.newest == NULL || uid == 0);
    kino__process *p = kino__registry_find(&d->registry, getpid());
    if (p && p->target)
        check_text(kino__requests_text(p));
    kino__arena_deinit(&arena);
    kino__buffer_deinit(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino__daemon d = {.log = {.fd = -1, .level = KINO__LOG_ERROR}};
    kino_error err;
    d.settings.socket_dir = "";
    if (size == 0 || kino__loop_new(&d.loop, &err) != KINO_OK)
        return 0;
    kino__registry_init(&d.registry, d.loop, &d.log);
    if (kino__requests_init(&d.requests, d.loop, &d.log, NULL, &err) == KINO_OK) {
        add_process(&d);
        ask(&d, data[0], (kino_str){(const char *)data + 1, size - 1});
        kino__requests_deinit(&d.requests);
    }
    kino__registry_deinit(&d.registry);
    kino__loop_free(d.loop);
    return 0;
}

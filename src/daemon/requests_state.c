/* requests_state.c - the small file that remembers which requests are open.
 *
 *   {"next":12,"open":[{"request":11,"uid":1000,"time_ms":...,
 *                       "targets":[{"pid":..,"rank":..,"path":..}]}]}
 *
 * Written when a request is made and when one ends: beside it, then renamed. It need not survive
 * the machine. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json_in.h"
#include "daemon/requests.h"

enum { STATE_BYTES_MAX = 32 << 20 };

/* -- writing */

static void put_open(const kino__requests *rs, kino__buffer *out)
{
    kino__json json = {.out = out};
    kino__json_begin_object(&json);
    kino__json_key(&json, "next");
    kino__json_uint(&json, rs->next_id);
    kino__json_key(&json, "open");
    kino__json_begin_array(&json);
    for (const kino__request *r = rs->newest; r; r = r->next) {
        if (r->open == 0)
            continue;
        kino__json_begin_object(&json);
        kino__request_json(r, true, &json);
        kino__json_end_object(&json);
    }
    kino__json_end_array(&json);
    kino__json_end_object(&json);
    kino__buffer_add(out, KINO__STR("\n"));
}

static bool write_all(int fd, kino_str bytes)
{
    while (bytes.size) {
        ssize_t done = write(fd, bytes.data, bytes.size);
        if (done <= 0)
            return false;
        bytes = (kino_str){bytes.data + done, bytes.size - (size_t)done};
    }
    return true;
}

void kino__requests_save(const kino__requests *rs)
{
    char beside[1100];
    if (!rs->state_path)
        return;
    int size = snprintf(beside, sizeof beside, "%s.new", rs->state_path);
    if (size < 0 || (size_t)size >= sizeof beside)
        return;
    kino__buffer text = {0};
    put_open(rs, &text);
    (void)unlink(beside); /* of one who was killed; never written into, whatever it is */
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool done = !text.failed && fd >= 0 && write_all(fd, kino__buffer_str(&text));
    if (fd >= 0 && close(fd) < 0)
        done = false;
    if (!done || rename(beside, rs->state_path) < 0)
        KINO__LOG(rs->log, KINO__LOG_WARNING, "state-not-written",
                  kino__log_text("path", rs->state_path), kino__log_int("errno", errno));
    kino__buffer_deinit(&text);
}

/* -- reading */

static bool load_target(kino__requests *rs, kino__request *r, const kino__json_in *from)
{
    kino__target *t = calloc(1, sizeof *t), **slot = t ? kino__vec_add(&r->targets) : NULL;
    int64_t pid = 0;
    kino_str path = {"", 0};
    if (!slot) {
        free(t);
        return false;
    }
    *slot = t;
    rs->target_count++;
    *t = (kino__target){.request = r, .place = KINO__PROCESS_PLACE_INIT, .bytes = -1};
    (void)kino__json_in_get_int(from, "pid", &pid);
    (void)kino__json_in_get_int(from, "rank", &t->place.rank);
    (void)kino__json_in_get_text(from, "path", &path);
    int64_t uid = -1, gid = -1;
    (void)kino__json_in_get_int(from, "uid", &uid);
    (void)kino__json_in_get_int(from, "gid", &gid);
    t->id.pid = (int32_t)pid;
    t->id.uid = (uid_t)uid; /* -1: not known */
    t->id.gid = (gid_t)gid;
    t->state = KINO__TARGET_LOST;
    t->message = strdup("lost when the daemon stopped");
    t->file.path = path.size ? strdup(path.data) : NULL;
    return true;
}

static void load_request(kino__requests *rs, const kino__json_in *from)
{
    int64_t id = 0, uid = 0;
    kino__request *r = calloc(1, sizeof *r);
    if (!r)
        return;
    (void)kino__json_in_get_int(from, "time_ms", &r->created_ms);
    if (!kino__json_in_get_int(from, "request", &id) || !kino__json_in_get_int(from, "uid", &uid) ||
        id <= 0) {
        free(r);
        return;
    }
    r->id = (uint64_t)id;
    r->uid = (uid_t)uid;
    const kino__json_in *target = kino__json_in_get_array(from, "targets");
    while (target && load_target(rs, r, target))
        target = target->next;
    /* The file has the newest first; so has the list. */
    kino__request **link = &rs->newest;
    while (*link)
        link = &(*link)->next;
    *link = r;
    rs->count++;
    KINO__LOG(rs->log, KINO__LOG_WARNING, "request-lost", kino__log_int("request", id),
              kino__log_int("targets", (int64_t)r->targets.count));
}

static kino_status load(kino__requests *rs, kino__arena *arena, kino_error *err)
{
    const kino__json_in_limits limits = {.size = STATE_BYTES_MAX};
    const kino__json_in *root;
    kino__file file;
    int64_t next;
    KINO_TRY(kino__file_open(rs->state_path, &file, err));
    kino_status st =
        kino__json_in_parse((kino_str){file.data, file.size}, &limits, arena, &root, err);
    kino__file_close(&file);
    if (st != KINO_OK)
        return st;
    if (!kino__json_in_get_int(root, "next", &next) || next <= 0)
        return kino__fail(err, KINO_FORMAT, "missing request number");
    rs->next_id = (uint64_t)next;
    for (const kino__json_in *r = kino__json_in_get_array(root, "open"); r; r = r->next)
        load_request(rs, r);
    return KINO_OK;
}

void kino__requests_load(kino__requests *rs)
{
    kino__arena arena;
    kino_error err;
    if (!rs->state_path || access(rs->state_path, F_OK) < 0)
        return;
    kino__arena_init(&arena, NULL);
    if (load(rs, &arena, &err) != KINO_OK)
        KINO__LOG(rs->log, KINO__LOG_WARNING, "state-not-read",
                  kino__log_text("path", rs->state_path), kino__log_text("reason", err.message));
    kino__arena_deinit(&arena);
}

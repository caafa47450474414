/* parts.c - reading the work folder. Everything in it was written by the recorded programs, so
 * nothing in it is believed. */
#include "record/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "wire/injection.h"
#include "wire/ring_format.h"

enum { PROCESSES_MAX = 1 << 20, NOTES_MAX = 100 };
/* The first anchors are 2 ms apart: they know the rate to a thousandth or better. */
#define CLOCK_TOLERANCE 0.01

/* -- buffers */

static bool read_anchor(int fd, off_t bank, uint32_t number, kino__ring_anchor *out)
{
    return pread(fd, out, sizeof *out, bank + (off_t)(number * sizeof *out)) == sizeof *out;
}

/* Ticks per ns between two anchors; 0: they do not say. */
static double rate_of(const kino__ring_anchor *from, const kino__ring_anchor *to)
{
    return to->raw_ns > from->raw_ns && to->ticks > from->ticks
               ? (double)(to->ticks - from->ticks) / (double)(to->raw_ns - from->raw_ns)
               : 0;
}

/* A process that did not stop its recording (it was killed, or may not make system calls) has no
 * anchor at its end, and perhaps only the first two, 2 ms apart. The counter is the machine's, so
 * ours is as good; unless its clock was another one (a time namespace). */
static void end_clock(int fd, const kino__ring_meta *meta, off_t bank)
{
    kino__ring_anchor first, last;
    uint32_t count = meta->anchor_count[meta->anchor_bank % KINO__RING_BANKS];
    if (meta->clock != KINO__RING_CLOCK_TSC || count < 2 || count >= meta->anchor_capacity ||
        !read_anchor(fd, bank, 0, &first) || !read_anchor(fd, bank, count - 1, &last))
        return;
    if (meta->state == KINO__RING_STOPPED ? last.ticks >= meta->stop_ticks
                                          : kill((pid_t)meta->pid, 0) == 0)
        return; /* it has one, or goes on */
    uint64_t before = kino_impl_v1_ticks();
    int64_t raw = kino__clock_ns(CLOCK_MONOTONIC_RAW);
    uint64_t after = kino_impl_v1_ticks();
    kino__ring_anchor own = {before + (after - before) / 2, raw, last.real_ns, after - before};
    double ratio = rate_of(&first, &last) > 0 ? rate_of(&last, &own) / rate_of(&first, &last) : 0;
    if (ratio < 1 - CLOCK_TOLERANCE || ratio > 1 + CLOCK_TOLERANCE)
        return;
    off_t at = bank + (off_t)(count * sizeof own);
    off_t counter = (off_t)(offsetof(kino__ring_meta, anchor_count) +
                            meta->anchor_bank % KINO__RING_BANKS * sizeof count);
    count++;
    if (pwrite(fd, &own, sizeof own, at) == sizeof own)
        (void)!pwrite(fd, &count, sizeof count, counter);
}

/* The first anchor says which time of day it was; later ones only how fast the clock runs. */
static bool set_clock(int fd, const kino__ring_meta *meta, int64_t real_minus_raw, int64_t *raw_ns)
{
    kino__ring_anchor anchor;
    uint64_t bank = meta->anchor_bank % KINO__RING_BANKS;
    off_t at =
        (off_t)(meta->anchor_offset + bank * meta->anchor_capacity * sizeof(kino__ring_anchor));
    if (!read_anchor(fd, at, 0, &anchor))
        return false;
    if (real_minus_raw != KINO_NO_INT)
        end_clock(fd, meta, at);
    *raw_ns = anchor.raw_ns;
    if (real_minus_raw == KINO_NO_INT)
        return true;
    anchor.real_ns = (int64_t)((uint64_t)anchor.raw_ns + (uint64_t)real_minus_raw);
    return pwrite(fd, &anchor, sizeof anchor, at) == sizeof anchor;
}

/* The slots are taken in order. */
static bool has_threads(int fd, const kino__ring_meta *meta)
{
    kino__ring_thread first;
    return pread(fd, &first, sizeof first, (off_t)meta->thread_offset) == sizeof first &&
           first.state != KINO__THREAD_FREE;
}

static kino_status add_part(kino__parts *parts, const char *path, int64_t real_minus_raw,
                            kino_error *err)
{
    kino__ring_meta meta;
    int64_t raw_ns = 0;
    kino_str file = kino__arena_format(&parts->arena, "%s/meta", path);
    if (!file.data)
        return kino__fail_nomem(err);
    int access = real_minus_raw == KINO_NO_INT ? O_RDONLY : O_RDWR;
    int fd = open(file.data, access | O_CLOEXEC | O_NOFOLLOW);
    bool ok = fd >= 0 && pread(fd, &meta, sizeof meta, 0) == sizeof meta &&
              memcmp(meta.magic, KINO__RING_MAGIC, sizeof meta.magic) == 0 &&
              set_clock(fd, &meta, real_minus_raw, &raw_ns);
    bool is_empty = ok && !has_threads(fd, &meta);
    if (fd >= 0)
        close(fd);
    if (!ok)
        return KINO_OK; /* the process ended while it made them */
    kino__record_part *part = kino__vec_add(&parts->items);
    kino_str name = {meta.process, strnlen(meta.process, sizeof meta.process)};
    name = kino__arena_format(&parts->arena, "%.*s", KINO__STR_ARG(name));
    kino_str copy = kino__arena_format(&parts->arena, "%s", path);
    if (!part || !name.data || !copy.data)
        return kino__fail_nomem(err);
    *part = (kino__record_part){meta.pid, copy.data, name.data, raw_ns, is_empty};
    return KINO_OK;
}

static kino_status read_buffers(kino__parts *parts, const char *folder, int64_t real_minus_raw,
                                kino_error *err)
{
    char path[4096];
    struct stat own, info;
    DIR *list = opendir(folder);
    if (!list || fstat(dirfd(list), &own) != 0) {
        kino_status failed = kino__fail_errno(err, errno, "cannot read '%s'", folder);
        if (list)
            closedir(list);
        return failed;
    }
    kino_status st = KINO_OK;
    const struct dirent *entry;
    while (st == KINO_OK && (entry = readdir(list))) { /* NOLINT(concurrency-mt-unsafe): ours */
        if (strncmp(entry->d_name, "kino-", 5) != 0)
            continue;
        int size = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        /* A link would lead to buffers of somebody else's choice. */
        if (size > 0 && (size_t)size < sizeof path && lstat(path, &info) == 0 &&
            S_ISDIR(info.st_mode) && info.st_uid == own.st_uid)
            st = add_part(parts, path, real_minus_raw, err);
    }
    closedir(list);
    return st;
}

static int compare_parts(const void *left, const void *right)
{
    const kino__record_part *a = left, *b = right;
    if (a->start_raw_ns != b->start_raw_ns)
        return a->start_raw_ns < b->start_raw_ns ? -1 : 1;
    return strcmp(a->path, b->path);
}

/* -- the log */

static kino_str take_word(kino_str *rest)
{
    size_t size = 0;
    while (size < rest->size && rest->data[size] != ' ')
        size++;
    kino_str word = {rest->data, size};
    size += size < rest->size;
    *rest = (kino_str){rest->data + size, rest->size - size};
    return word;
}

static bool take_number(kino_str *rest, int64_t *out)
{
    return kino__str_to_int(take_word(rest), out) && *out >= 0;
}

static kino__seen *see(kino__parts *parts, int64_t pid)
{
    for (size_t i = parts->seen.count; i-- > 0;)
        if (parts->seen.items[i].pid == pid)
            return &parts->seen.items[i];
    kino__seen *seen = parts->seen.count < PROCESSES_MAX ? kino__vec_add(&parts->seen) : NULL;
    if (seen)
        *seen = (kino__seen){.pid = pid, .command = "", .place = KINO__PROCESS_PLACE_INIT};
    return seen;
}

static bool add_text_note(kino__parts *parts, kino_str note)
{
    const char **slot =
        parts->notes.count < NOTES_MAX && note.data ? kino__vec_add(&parts->notes) : NULL;
    if (slot)
        *slot = note.data;
    return slot != NULL;
}

static bool add_note(kino__parts *parts, int64_t pid, kino_str text)
{
    return add_text_note(parts,
                         kino__arena_format(&parts->arena, "process %lld is not recorded: %.*s",
                                            (long long)pid, KINO__STR_ARG(text)));
}

/* The text is the user's to read: said once, whoever said it. */
static bool add_said(kino__parts *parts, kino_str text)
{
    return add_text_note(parts, kino__arena_format(&parts->arena, "%.*s", KINO__STR_ARG(text)));
}

static bool add_own(kino__parts *parts, kino_str line)
{
    kino__perf_own own = {0};
    if (!take_number(&line, &own.tid) || !take_number(&line, &own.from_ns) ||
        !take_number(&line, &own.to_ns) || parts->own.count >= PROCESSES_MAX)
        return false;
    kino__perf_own *slot = kino__vec_add(&parts->own);
    if (slot)
        *slot = own;
    return slot != NULL;
}

/* -- ranks */

static int64_t take_maybe(kino_str *rest)
{
    int64_t number;
    return take_number(rest, &number) ? number : -1;
}

static bool add_rank(kino__parts *parts, int64_t pid, kino_str line)
{
    kino__process_place place = KINO__PROCESS_PLACE_INIT;
    place.rank = take_maybe(&line);
    place.world_size = take_maybe(&line);
    place.local_rank = take_maybe(&line);
    place.source = (int)take_maybe(&line);
    if (line.size < sizeof place.job)
        memcpy(place.job, line.data, line.size);
    kino__seen *seen = see(parts, pid);
    if (!seen)
        return false;
    seen->place = place;
    seen->has_place = true;
    return true;
}

/* -- pauses: a program may switch its recording off and on */

static void begin_pause(kino__seen *seen, int64_t time)
{
    if (seen->is_paused)
        return;
    seen->is_paused = true;
    seen->pauses++;
    seen->pause_raw_ns = time;
}

/* Samples of all its threads are left out. */
static void end_pause(kino__parts *parts, kino__seen *seen, int64_t time)
{
    if (!seen->is_paused)
        return;
    seen->is_paused = false;
    seen->paused_ns += time > seen->pause_raw_ns ? time - seen->pause_raw_ns : 0;
    kino__perf_own *slot = parts->own.count < PROCESSES_MAX ? kino__vec_add(&parts->own) : NULL;
    if (slot)
        *slot = (kino__perf_own){-seen->pid, seen->pause_raw_ns, time};
}

static bool add_pause(kino__parts *parts, int64_t pid, bool is_begin, kino_str line)
{
    int64_t time;
    kino__seen *seen = take_number(&line, &time) ? see(parts, pid) : NULL;
    if (!seen)
        return false;
    if (is_begin)
        begin_pause(seen, time);
    else
        end_pause(parts, seen, time);
    return true;
}

/* Those that lasted until the end, and what is said of all. */
static void finish_pauses(kino__parts *parts)
{
    for (size_t i = 0; i < parts->seen.count; i++) {
        kino__seen *seen = &parts->seen.items[i];
        char length[64] = "";
        if (!seen->pauses)
            continue;
        if (seen->paused_ns || !seen->is_paused)
            (void)snprintf(length, sizeof length, ", for %.3f s", (double)seen->paused_ns / 1e9);
        (void)add_text_note(
            parts, kino__arena_format(
                       &parts->arena, "process %lld paused its recording %u time%s%s%s",
                       (long long)seen->pid, seen->pauses, seen->pauses == 1 ? "" : "s", length,
                       !seen->is_paused    ? ""
                       : seen->pauses == 1 ? ", to its end"
                                           : ", the last time to its end"));
        end_pause(parts, seen, seen->end_raw_ns ? seen->end_raw_ns : INT64_MAX);
    }
}

static int compare_own(const void *left, const void *right)
{
    const kino__perf_own *a = left, *b = right;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

bool kino__parts_read_line(kino__parts *parts, kino_str line)
{
    kino_str word = take_word(&line), command;
    int64_t pid, parent = 0, time = 0;
    if (!take_number(&line, &pid) || pid == 0)
        return false;
    if (kino__str_is(word, "note"))
        return add_note(parts, pid, line);
    if (kino__str_is(word, "say"))
        return add_said(parts, line);
    if (kino__str_is(word, "own"))
        return add_own(parts, line);
    if (kino__str_is(word, "rank"))
        return add_rank(parts, pid, line);
    if (kino__str_is(word, "pause") || kino__str_is(word, "resume"))
        return add_pause(parts, pid, kino__str_is(word, "pause"), line);
    bool is_exit = kino__str_is(word, "exit"), is_exec = kino__str_is(word, "exec");
    if (!is_exit && !is_exec && !kino__str_is(word, "fork"))
        return false;
    if ((!is_exit && !take_number(&line, &parent)) || !take_number(&line, &time))
        return false;
    kino__seen *seen = see(parts, pid);
    if (!seen)
        return false;
    if (is_exit) {
        seen->end_raw_ns = time;
        return true;
    }
    seen->parent = parent;
    seen->start_raw_ns = seen->start_raw_ns ? seen->start_raw_ns : time;
    end_pause(parts, seen, time); /* another program */
    if (is_exec && (command = kino__arena_format(&parts->arena, "%.*s", KINO__STR_ARG(line))).data)
        seen->command = command.data;
    return true;
}

static kino_status read_log(kino__parts *parts, const char *folder, kino_error *err)
{
    kino__file file;
    KINO_TRY(kino__file_open_member(folder, KINO__INJECT_LOG, &file, err));
    for (size_t at = 0; at < file.size;) {
        const char *end = memchr(file.data + at, '\n', file.size - at);
        size_t size = end ? (size_t)(end - (file.data + at)) : file.size - at;
        (void)kino__parts_read_line(parts, (kino_str){file.data + at, size});
        at += size + 1;
    }
    kino__file_close(&file);
    return KINO_OK;
}

kino_status kino__parts_read(kino__parts *out, const char *folder, int64_t real_minus_raw,
                             kino_error *err)
{
    *out = (kino__parts){0};
    kino__arena_init(&out->arena, NULL);
    KINO_TRY(read_buffers(out, folder, real_minus_raw, err));
    if (out->items.count)
        qsort(out->items.items, out->items.count, sizeof *out->items.items, compare_parts);
    KINO_TRY(read_log(out, folder, err));
    finish_pauses(out);
    if (!kino__parts_find_roles(out))
        return kino__fail_nomem(err);
    if (out->own.count)
        qsort(out->own.items, out->own.count, sizeof *out->own.items, compare_own);
    return KINO_OK;
}

void kino__parts_deinit(kino__parts *parts)
{
    kino__vec_deinit(&parts->items);
    kino__vec_deinit(&parts->seen);
    kino__vec_deinit(&parts->own);
    kino__vec_deinit(&parts->notes);
    kino__arena_deinit(&parts->arena);
}

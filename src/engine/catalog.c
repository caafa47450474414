/* catalog.c - what there is to open under some paths: runs, spans and files by their names, without
 * reading any. For programs that show a list first and load later.
 *
 * A folder's runs are named by their paths from it ("." is the folder itself) when it is the only
 * path; of several paths each gives its last part as a prefix ("logs/a"), and a file is a run of
 * its own. Names are unique: where two would be the same, the later one is its whole path. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/map.h"
#include "engine/discover.h"
#include "engine/kino_run.h"

struct kino_catalog {
    KINO__VEC(kino_catalog_run) runs;
    kino__map names, paths; /* hashes of those of the runs, for a quick look */
    kino__arena arena;
};

/* -- names -- */

/* The last part of a path, without slashes behind it; of "." what the folder is called. */
static kino_str last_part(kino__arena *arena, const char *path)
{
    kino_str text = kino__str_from(path);
    while (text.size > 1 && text.data[text.size - 1] == '/')
        text.size--;
    size_t from = text.size;
    while (from && text.data[from - 1] != '/')
        from--;
    kino_str part = {text.data + from, text.size - from};
    if (!kino__str_is(part, ".") && !kino__str_is(part, "..") && part.size)
        return kino__arena_copy(arena, part);
    char *whole = realpath(path, NULL);
    const char *slash = whole ? strrchr(whole, '/') : NULL;
    part = kino__arena_copy(arena, slash && slash[1] ? kino__str_from(slash + 1) : text);
    free(whole);
    return part;
}

/* Has a run this name (or path)? Looks at the runs only where a hash is there. */
static bool is_taken(const kino_catalog *catalog, const char *name)
{
    if (!kino__map_get(&catalog->names, kino__hash_bytes(name, strlen(name))))
        return false;
    for (size_t i = 0; i < catalog->runs.count; i++)
        if (strcmp(catalog->runs.items[i].name, name) == 0)
            return true;
    return false;
}

static bool is_listed(const kino_catalog *catalog, const char *path)
{
    if (!kino__map_get(&catalog->paths, kino__hash_bytes(path, strlen(path))))
        return false;
    for (size_t i = 0; i < catalog->runs.count; i++)
        if (strcmp(catalog->runs.items[i].path, path) == 0)
            return true;
    return false;
}

/* -- files -- */

/* By worker, then span as text: what numbers the spans. */
static int compare_spans(const void *a, const void *b)
{
    const kino_catalog_file *x = *(kino_catalog_file *const *)a;
    const kino_catalog_file *y = *(kino_catalog_file *const *)b;
    int order = strcmp(x->worker ? x->worker : "", y->worker ? y->worker : "");
    if (order == 0)
        order = strcmp(x->span ? x->span : "", y->span ? y->span : "");
    return order ? order : kino__natural_compare(x->name, y->name);
}

/* Numbers the spans of each worker from 1 and gives the largest number. */
static bool number_spans(kino_catalog_file *files, size_t count, uint32_t *most)
{
    kino_catalog_file **order = malloc((count ? count : 1) * sizeof *order);
    *most = 0;
    if (!order)
        return false;
    for (size_t i = 0; i < count; i++)
        order[i] = &files[i];
    qsort(order, count, sizeof *order, compare_spans);
    for (size_t i = 0; i < count; i++) {
        kino_catalog_file *file = order[i], *before = i ? order[i - 1] : NULL;
        file->is_newest = true;
        if (!file->worker || !file->span)
            continue;
        bool same =
            before && before->worker && before->span && strcmp(before->worker, file->worker) == 0;
        if (!same)
            file->span_number = 1;
        else
            file->span_number =
                before->span_number + (strcmp(before->span, file->span) == 0 ? 0 : 1);
        if (same)
            before->is_newest = before->span_number == file->span_number;
        *most = file->span_number > *most ? file->span_number : *most;
    }
    free(order);
    return true;
}

static kino_catalog_file describe_file(kino__arena *arena, const kino__found *found)
{
    const char *slash = strrchr(found->path, '/');
    struct stat info = {0};
    kino_catalog_file file = {
        .name = kino__arena_copy(arena, kino__str_from(slash ? slash + 1 : found->path)).data,
        .rank = kino__rank_of_name(found->path)};
    if (found->worker)
        file.worker = kino__arena_copy(arena, kino__str_from(found->worker)).data;
    if (found->span)
        file.span = kino__arena_copy(arena, kino__str_from(found->span)).data;
    if (stat(found->path, &info) == 0) {
        file.bytes = (uint64_t)info.st_size;
        file.changed_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
        file.inode = (uint64_t)info.st_ino;
    }
    return file;
}

static kino_status add_run(kino_catalog *catalog, const char *name, const char *label,
                           const char *path, const kino__discovery *found, kino_error *err)
{
    if (found->files.count == 0 || is_listed(catalog, path))
        return KINO_OK; /* the same path twice */
    if (is_taken(catalog, name))
        name = path;
    size_t count = found->files.count;
    kino_catalog_file *files = kino__arena_alloc(&catalog->arena, count * sizeof *files);
    kino_catalog_run run = {.name = name, .label = label, .path = path, .file_count = count};
    bool ok = files != NULL && name && label && path;
    for (size_t i = 0; i < count && ok; i++) {
        files[i] = describe_file(&catalog->arena, &found->files.items[i]);
        ok = files[i].name && (files[i].worker || !found->files.items[i].worker) &&
             (files[i].span || !found->files.items[i].span);
    }
    run.files = files;
    ok = ok && number_spans(files, count, &run.span_count) &&
         kino__map_put(&catalog->names, kino__hash_bytes(name, strlen(name)), 0) &&
         kino__map_put(&catalog->paths, kino__hash_bytes(path, strlen(path)), 0);
    kino_catalog_run *slot = ok ? kino__vec_add(&catalog->runs) : NULL;
    if (!slot)
        return kino__fail_nomem(err);
    *slot = run;
    return KINO_OK;
}

/* -- paths -- */

static kino_status add_folder(kino_catalog *catalog, const char *folder, bool is_only,
                              kino_error *err)
{
    kino__names names = {0};
    kino__arena *arena = &catalog->arena;
    kino_status st = kino__discover_runs(arena, folder, &names, err);
    const char *prefix = last_part(arena, folder).data;
    for (size_t i = 0; i < names.names.count && st == KINO_OK && prefix; i++) {
        const char *inside = names.names.items[i];
        bool is_itself = strcmp(inside, ".") == 0;
        const char *path = is_itself ? folder : kino__join_path(arena, folder, inside);
        const char *name = is_itself ? prefix : kino__join_path(arena, prefix, inside);
        kino__discovery found;
        if (!path || !name)
            break;
        /* A folder that has gone meanwhile is no error. */
        kino_status listed = kino__discover_folder(path, &found, NULL);
        kino__discovery_keep_inside(&found, folder);
        if (listed == KINO_OK)
            st = add_run(catalog, is_only ? inside : name, is_only && !is_itself ? inside : name,
                         path, &found, err);
        kino__discovery_deinit(&found);
    }
    kino__vec_deinit(&names.names);
    return st;
}

static kino_status add_path(kino_catalog *catalog, const char *given, bool is_only, kino_error *err)
{
    struct stat info;
    const char *path = kino__arena_copy(&catalog->arena, kino__str_from(given)).data;
    if (!path)
        return kino__fail_nomem(err);
    if (stat(path, &info) != 0)
        return kino__fail_file_errno(err, errno, "read", path);
    if (S_ISDIR(info.st_mode))
        return add_folder(catalog, path, is_only, err);
    kino__discovery found;
    const char *name = last_part(&catalog->arena, path).data;
    kino_status st = kino__discover(&path, 1, NULL, NULL, &found, err);
    if (st == KINO_OK)
        st = add_run(catalog, name, name, path, &found, err);
    kino__discovery_deinit(&found);
    return st;
}

kino_status kino_catalog_new(const char *const *paths, size_t count, kino_catalog **out,
                             kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_catalog *catalog = calloc(1, sizeof *catalog);
    if (!catalog)
        return kino__fail_nomem(err);
    kino__arena_init(&catalog->arena, NULL);
    kino__map_init(&catalog->names, NULL);
    kino__map_init(&catalog->paths, NULL);
    kino_status st = KINO_OK;
    for (size_t i = 0; i < count && st == KINO_OK; i++)
        st = add_path(catalog, paths[i], count == 1, err);
    if (st == KINO_OK)
        *out = catalog;
    else
        kino_catalog_free(catalog);
    return st;
}

const kino_catalog_run *kino_catalog_run_at(const kino_catalog *catalog, size_t index)
{
    return index < catalog->runs.count ? &catalog->runs.items[index] : NULL;
}

void kino_catalog_free(kino_catalog *catalog)
{
    if (!catalog)
        return;
    kino__vec_deinit(&catalog->runs);
    kino__map_deinit(&catalog->names);
    kino__map_deinit(&catalog->paths);
    kino__arena_deinit(&catalog->arena);
    free(catalog);
}

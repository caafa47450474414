/* discover.c - which files are the traces of a run. Only names are looked at; contents are the
 * readers' business. */
#include "engine/discover.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/map.h"
#include "base/str.h"

static const kino_str suffixes[] = {
    KINO__STR(".json"),       KINO__STR(".json.gz"),        KINO__STR(".json.zst"),
    KINO__STR(".kino"),       KINO__STR(".sqlite"),         KINO__STR(".pftrace"),
    KINO__STR(".pftrace.gz"), KINO__STR(".perfetto-trace"), KINO__STR(".xplane.pb")};

/* -- names -- */

int kino__natural_compare(const char *a, const char *b)
{
    const char *x = a, *y = b;
    while (*x && *y) {
        if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
            while (*x == '0')
                x++;
            while (*y == '0')
                y++;
            size_t nx = strspn(x, "0123456789"), ny = strspn(y, "0123456789");
            if (nx != ny)
                return nx < ny ? -1 : 1;
            int order = nx ? memcmp(x, y, nx) : 0;
            if (order)
                return order;
            x += nx;
            y += ny;
            continue;
        }
        if (*x != *y)
            return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
        x++;
        y++;
    }
    if (*x || *y)
        return *x ? 1 : -1;
    return strcmp(a, b); /* "01" and "1" differ after all */
}

/* Flight-recorder dumps end with their rank. */
static const kino_str dump_prefixes[] = {KINO__STR("nccl_trace_rank_"),
                                         KINO__STR("comm_lib_trace_rank_"),
                                         KINO__STR("torchcomm_fr_trace_")};

static bool is_dump_name(kino_str name)
{
    for (size_t i = 0; i < sizeof dump_prefixes / sizeof *dump_prefixes; i++)
        if (kino__str_starts_with(name, dump_prefixes[i]) &&
            isdigit((unsigned char)name.data[name.size - 1]))
            return true;
    return false;
}

/* Pickles are of many kinds: PyTorch's memory snapshots have the word in their names. */
static bool is_snapshot_name(kino_str name)
{
    static const kino_str ends[] = {KINO__STR(".pickle"), KINO__STR(".pickle.gz"),
                                    KINO__STR(".pkl")};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (kino__str_ends_with(name, ends[i]))
            return kino__str_contains(name, KINO__STR("snapshot"));
    return false;
}

static bool is_trace_name(kino_str name)
{
    if (name.size == 0 || name.data[0] == '.')
        return false;
    if (is_dump_name(name) || is_snapshot_name(name))
        return true;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (kino__str_ends_with(name, suffixes[i]))
            return true;
    return false;
}

static void cut_suffix(kino_str *name, kino_str suffix)
{
    if (kino__str_ends_with(*name, suffix))
        name->size -= suffix.size;
}

/* <worker>[.<digits>].pt.trace.json[.gz|.zst], or .kino -> worker and span. */
static void split_name(kino__arena *arena, kino__found *file)
{
    const char *slash = strrchr(file->path, '/');
    kino_str name = kino__str_from(slash ? slash + 1 : file->path);
    cut_suffix(&name, KINO__STR(".gz"));
    cut_suffix(&name, KINO__STR(".zst"));
    if (!kino__str_ends_with(name, KINO__STR(".pt.trace.json")) &&
        !kino__str_ends_with(name, KINO__STR(".pt.trace.kino")))
        return;
    name.size -= strlen(".pt.trace.json");
    size_t digits = 0;
    while (digits < name.size && isdigit((unsigned char)name.data[name.size - 1 - digits]))
        digits++;
    kino_str worker = name;
    if (digits && digits + 1 < name.size && name.data[name.size - 1 - digits] == '.') {
        file->span =
            kino__arena_copy(arena, (kino_str){name.data + name.size - digits, digits}).data;
        worker.size -= digits + 1;
    }
    file->worker = kino__arena_copy(arena, worker).data;
}

/* -- folders -- */

typedef kino__names name_list;

static int compare_names(const void *a, const void *b)
{
    return kino__natural_compare(*(const char *const *)a, *(const char *const *)b);
}

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Is the entry a folder (`traces`: a file)? Pipes and devices are neither: reading them may never
 * end. Most file systems tell with the name; only for links and where they do not it costs a
 * stat. False also when memory is out. */
static bool is_wanted(kino__arena *arena, const char *folder, const struct dirent *entry,
                      bool traces)
{
    struct stat info;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return entry->d_type == (traces ? DT_REG : DT_DIR);
    const char *path = kino__join_path(arena, folder, entry->d_name);
    return path && stat(path, &info) == 0 &&
           (traces ? S_ISREG(info.st_mode) : S_ISDIR(info.st_mode));
}

/* Names in a folder, sorted; `traces`: trace files, else sub-folders. */
static kino_status list_folder(kino__arena *arena, const char *folder, bool traces, name_list *out,
                               kino_error *err)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return kino__fail_file_errno(err, errno, "read", folder);
    kino_status st = KINO_OK;
    struct dirent *entry;
    while (st == KINO_OK &&
           (entry = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe): the DIR is ours alone */
        kino_str name = kino__str_from(entry->d_name);
        if (name.data[0] == '.' || (traces && !is_trace_name(name)) ||
            !is_wanted(arena, folder, entry, traces))
            continue;
        const char *copy = kino__arena_copy(arena, name).data;
        const char **slot = copy ? kino__vec_add(&out->names) : NULL;
        if (slot)
            *slot = copy;
        else
            st = kino__fail_nomem(err);
    }
    closedir(dir);
    if (out->names.items)
        qsort(out->names.items, out->names.count, sizeof *out->names.items, compare_names);
    return st;
}

/* Names into an error message, as many as fit: "a, b, c and 12 more". */
static void add_list(char *text, size_t size, const name_list *list)
{
    size_t used = strlen(text);
    for (size_t i = 0; i < list->names.count; i++) {
        const char *name = list->names.items[i];
        if (used + strlen(name) + 24 > size) {
            (void)snprintf(text + used, size - used, " and %zu more", list->names.count - i);
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : " ", name);
    }
}

/* Behind what *err says: the names, " none" when there are none. */
static kino_status add_choices(kino_error *err, kino_status code, const name_list *list)
{
    if (!err)
        return code;
    size_t used = strlen(err->message);
    if (list->names.count)
        add_list(err->message, sizeof err->message, list);
    else
        (void)snprintf(err->message + used, sizeof err->message - used, " none");
    return code;
}

static kino_status fail_unknown(kino_error *err, const char *what, const char *folder,
                                const name_list *list)
{
    (void)kino__fail(err, KINO_NOT_FOUND, "no such %s in '%s'; it has", what, folder);
    return add_choices(err, KINO_NOT_FOUND, list);
}

static kino_status fail_several(kino_error *err, const char *what, const char *folder,
                                kino_hint hint, const name_list *list)
{
    (void)kino__fail_hint(err, KINO_ARGUMENT, hint,
                          "'%s' has several %s; select one with " KINO__HERE ":", folder, what);
    kino__error_set_path(err, 1, folder);
    return add_choices(err, KINO_ARGUMENT, list);
}

static kino_status fail_empty(kino_error *err, const char *folder)
{
    (void)kino__fail(
        err, KINO_NOT_FOUND,
        "no traces in '%s': no files named *.json, *.json.gz, *.json.zst, *.kino, *.sqlite or "
        "*.pftrace",
        folder);
    kino__error_set_path(err, strlen("no traces in '"), folder);
    return KINO_NOT_FOUND;
}

static kino_status add_file(kino__discovery *out, const char *path, bool from_folder,
                            kino_error *err)
{
    kino__found *slot = path ? kino__vec_add(&out->files) : NULL;
    if (!slot)
        return kino__fail_nomem(err);
    *slot = (kino__found){.path = path, .from_folder = from_folder};
    split_name(&out->arena, slot);
    return KINO_OK;
}

/* -- spans -- */

/* Are both of one worker, and a before b? */
static bool is_earlier_span(const kino__found *a, const kino__found *b)
{
    return a->worker && b->worker && a->span && b->span && strcmp(a->worker, b->worker) == 0 &&
           strcmp(a->span, b->span) < 0;
}

/* The number (from 1) of a file among the spans of its worker, in files of one folder. */
static size_t span_number(const kino__discovery *d, size_t first, size_t index)
{
    size_t number = 1;
    for (size_t i = first; i < d->files.count; i++)
        number += is_earlier_span(&d->files.items[i], &d->files.items[index]);
    return number;
}

static bool has_later_span(const kino__discovery *d, size_t first, size_t index)
{
    for (size_t i = first; i < d->files.count; i++)
        if (is_earlier_span(&d->files.items[index], &d->files.items[i]))
            return true;
    return false;
}

static bool has_several_spans(const kino__discovery *d, size_t first)
{
    for (size_t i = first; i < d->files.count; i++)
        if (d->files.items[i].span && span_number(d, first, i) > 1)
            return true;
    return false;
}

static kino_status fail_spans(kino__discovery *d, size_t first, const char *folder,
                              const char *wanted, kino_error *err)
{
    name_list list = {0};
    for (size_t i = first; i < d->files.count; i++) {
        if (!d->files.items[i].span)
            continue;
        const char *slash = strrchr(d->files.items[i].path, '/');
        const char *text = kino__arena_format(&d->arena, "%zu (%s)", span_number(d, first, i),
                                              slash ? slash + 1 : d->files.items[i].path)
                               .data;
        const char **slot = text ? kino__vec_add(&list.names) : NULL;
        if (slot)
            *slot = text;
    }
    kino_status st = wanted ? fail_unknown(err, "recording", folder, &list)
                            : fail_several(err, "recordings", folder,
                                           kino__hint(KINO_HINT_OPTION, "span", "N"), &list);
    kino__vec_deinit(&list.names);
    return st;
}

/* Keeps the chosen span of every worker in files [first, end); files without spans stay. */
static kino_status choose_span(kino__discovery *d, size_t first, const char *folder,
                               const char *span, kino_error *err)
{
    if (!span)
        return has_several_spans(d, first) ? fail_spans(d, first, folder, NULL, err) : KINO_OK;
    bool is_newest = strcmp(span, "newest") == 0, found = is_newest;
    int64_t number = 0;
    (void)kino__str_to_int(kino__str_from(span), &number);
    bool *keep = calloc(d->files.count, sizeof *keep);
    if (!keep)
        return kino__fail_nomem(err);
    for (size_t i = first; i < d->files.count; i++) {
        const kino__found *file = &d->files.items[i];
        keep[i] = !file->span || strcmp(file->span, span) == 0 ||
                  (is_newest && !has_later_span(d, first, i)) ||
                  (number > 0 && (uint64_t)number == span_number(d, first, i));
        found |= file->span && keep[i];
    }
    kino_status st = found ? KINO_OK : fail_spans(d, first, folder, span, err);
    size_t kept = first;
    for (size_t i = first; st == KINO_OK && i < d->files.count; i++)
        if (keep[i])
            d->files.items[kept++] = d->files.items[i];
    if (st == KINO_OK) {
        d->older_spans += is_newest ? d->files.count - kept : 0;
        d->files.count = kept;
    }
    free(keep);
    return st;
}

/* -- a path -- */

static kino_status add_folder(kino__discovery *out, const char *folder, const char *span,
                              kino_error *err)
{
    name_list files = {0};
    size_t first = out->files.count;
    kino_status st = list_folder(&out->arena, folder, true, &files, err);
    for (size_t i = 0; i < files.names.count && st == KINO_OK; i++)
        st = add_file(out, kino__join_path(&out->arena, folder, files.names.items[i]), true, err);
    kino__vec_deinit(&files.names);
    if (st == KINO_OK && out->files.count > first)
        st = choose_span(out, first, folder, span, err);
    return st;
}

/* Are there traces directly in the folder? */
static bool has_traces(kino__arena *arena, const char *folder)
{
    name_list files = {0};
    /* A folder that cannot be read is not a run; the others still are. */
    bool found = list_folder(arena, folder, true, &files, NULL) == KINO_OK && files.names.count;
    kino__vec_deinit(&files.names);
    return found;
}

/* Was the folder not there before? Links may lead in circles. False also when memory is out. */
static bool is_new_folder(kino__map *seen, const char *path)
{
    struct stat info;
    size_t before = seen->count;
    if (stat(path, &info) != 0)
        return false;
    uint64_t key = kino__hash_u64((uint64_t)info.st_dev) ^ (uint64_t)info.st_ino;
    return kino__map_put(seen, key, 0) && seen->count > before;
}

/* The sub-folders of `inside` (relative to `folder`): into `all`, and those with traces into
 * `runs`. */
static kino_status list_inside(kino__arena *arena, const char *folder, const char *inside,
                               kino__map *seen, name_list *all, name_list *runs, kino_error *err)
{
    name_list names = {0};
    const char *here = *inside ? kino__join_path(arena, folder, inside) : folder;
    if (!here)
        return kino__fail_nomem(err);
    kino_status st = list_folder(arena, here, false, &names, *inside ? NULL : err);
    if (st != KINO_OK && *inside)
        st = KINO_OK; /* cannot be read: nothing to find in it */
    for (size_t i = 0; i < names.names.count && st == KINO_OK; i++) {
        const char *path = kino__join_path(arena, here, names.names.items[i]);
        const char *name =
            *inside ? kino__join_path(arena, inside, names.names.items[i]) : names.names.items[i];
        if (!path || !name)
            st = kino__fail_nomem(err);
        else if (!is_new_folder(seen, path))
            continue;
        const char **slot = st == KINO_OK ? kino__vec_add(&all->names) : NULL;
        const char **run = slot && has_traces(arena, path) ? kino__vec_add(&runs->names) : slot;
        if (!slot || !run)
            st = kino__fail_nomem(err);
        else
            *run = *slot = name;
    }
    kino__vec_deinit(&names.names);
    return st;
}

/* Folders below that have traces, by their paths relative to `folder`, however deep. */
static kino_status list_runs(kino__arena *arena, const char *folder, name_list *out,
                             kino_error *err)
{
    enum { MOST_FOLDERS = 100000 };
    name_list all = {0};
    kino__map seen;
    kino__map_init(&seen, NULL);
    kino_status st = list_inside(arena, folder, "", &seen, &all, out, err);
    for (size_t i = 0; i < all.names.count && i < MOST_FOLDERS && st == KINO_OK; i++)
        st = list_inside(arena, folder, all.names.items[i], &seen, &all, out, err);
    if (out->names.count)
        qsort(out->names.items, out->names.count, sizeof *out->names.items, compare_names);
    kino__map_deinit(&seen);
    kino__vec_deinit(&all.names);
    return st;
}

static kino_status choose_run(kino__discovery *out, const char *folder, const char *run,
                              const char *span, kino_error *err)
{
    name_list runs = {0};
    const char *chosen = NULL;
    kino_status st = list_runs(&out->arena, folder, &runs, err);
    for (size_t i = 0; st == KINO_OK && run && i < runs.names.count; i++)
        if (strcmp(runs.names.items[i], run) == 0)
            chosen = runs.names.items[i];
    if (st == KINO_OK && runs.names.count == 0)
        st = fail_empty(err, folder);
    else if (st == KINO_OK && run && !chosen)
        st = fail_unknown(err, "run", folder, &runs);
    else if (st == KINO_OK && !run && runs.names.count == 1)
        chosen = runs.names.items[0];
    else if (st == KINO_OK && !run)
        st = fail_several(err, "runs", folder, kino__hint(KINO_HINT_OPTION, "run", "NAME"), &runs);
    const char *path = st == KINO_OK ? kino__join_path(&out->arena, folder, chosen) : NULL;
    if (st == KINO_OK)
        st = path ? add_folder(out, path, span, err) : kino__fail_nomem(err);
    kino__vec_deinit(&runs.names);
    return st;
}

kino_status kino__discover(const char *const *paths, size_t count, const char *run,
                           const char *span, kino__discovery *out, kino_error *err)
{
    *out = (kino__discovery){0};
    kino__arena_init(&out->arena, NULL);
    for (size_t i = 0; i < count; i++) {
        size_t before = out->files.count;
        if (strcmp(paths[i], "-") == 0 || !is_directory(paths[i])) {
            KINO_TRY(add_file(out, kino__arena_copy(&out->arena, kino__str_from(paths[i])).data,
                              false, err));
            continue;
        }
        KINO_TRY(add_folder(out, paths[i], span, err));
        if (out->files.count == before)
            KINO_TRY(choose_run(out, paths[i], run, span, err));
    }
    return KINO_OK;
}

kino_status kino__discover_runs(kino__arena *arena, const char *folder, kino__names *out,
                                kino_error *err)
{
    KINO_TRY(list_runs(arena, folder, out, err));
    if (!has_traces(arena, folder))
        return KINO_OK;
    const char **slot = kino__vec_add(&out->names);
    if (!slot)
        return kino__fail_nomem(err);
    memmove(out->names.items + 1, out->names.items, (out->names.count - 1) * sizeof *slot);
    out->names.items[0] = ".";
    return KINO_OK;
}

kino_status kino__discover_folder(const char *folder, kino__discovery *out, kino_error *err)
{
    name_list files = {0};
    *out = (kino__discovery){0};
    kino__arena_init(&out->arena, NULL);
    kino_status st = list_folder(&out->arena, folder, true, &files, err);
    for (size_t i = 0; i < files.names.count && st == KINO_OK; i++)
        st = add_file(out, kino__join_path(&out->arena, folder, files.names.items[i]), true, err);
    kino__vec_deinit(&files.names);
    return st;
}

static bool is_below(const char *root, const char *path)
{
    size_t size = strlen(root);
    char *real = realpath(path, NULL);
    bool is = real && strncmp(real, root, size) == 0 &&
              (real[size] == '/' || (size && root[size - 1] == '/'));
    free(real);
    return is;
}

void kino__discovery_keep_inside(kino__discovery *discovery, const char *inside)
{
    size_t kept = 0;
    if (!inside)
        return;
    char *root = realpath(inside, NULL);
    for (size_t i = 0; i < discovery->files.count; i++) {
        const kino__found *file = &discovery->files.items[i];
        if (!file->from_folder || (root && is_below(root, file->path)))
            discovery->files.items[kept++] = *file;
    }
    discovery->files.count = kept;
    free(root);
}

/* Every file weighs something, or many empty ones would be in one part. */
static uint64_t weight_of(const char *path)
{
    enum { OPENING = 64 << 10 };
    struct stat info;
    bool is_known = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    return (is_known ? (uint64_t)info.st_size : 0) + OPENING;
}

void kino__discovery_keep_part(kino__discovery *discovery, unsigned part, unsigned parts)
{
    size_t count = discovery->files.count, kept = 0;
    uint64_t total = 0, before = 0;
    for (size_t i = 0; i < count; i++)
        total += weight_of(discovery->files.items[i].path);
    for (size_t i = 0; i < count; i++) {
        const kino__found file = discovery->files.items[i];
        uint64_t weight = weight_of(file.path);
        /* where its middle lies */
        unsigned __int128 place = ((unsigned __int128)before * 2 + weight) * parts;
        before += weight;
        if ((unsigned)(place / ((unsigned __int128)total * 2)) == part)
            discovery->files.items[kept++] = file;
    }
    discovery->files.count = kept;
}

uint64_t kino__discovery_id(const kino__discovery *discovery)
{
    uint64_t id = discovery->files.count;
    for (size_t i = 0; i < discovery->files.count; i++) {
        const char *path = discovery->files.items[i].path;
        struct stat info = {0};
        (void)!stat(path, &info);
        const uint64_t parts[] = {kino__hash_bytes(path, strlen(path)), (uint64_t)info.st_size,
                                  (uint64_t)info.st_mtim.tv_sec, (uint64_t)info.st_mtim.tv_nsec,
                                  (uint64_t)info.st_ino};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            id = kino__hash_u64(id ^ parts[k]);
    }
    return id ? id : 1;
}

void kino__discovery_deinit(kino__discovery *discovery)
{
    kino__vec_deinit(&discovery->files);
    kino__arena_deinit(&discovery->arena);
}

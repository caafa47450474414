/* profile_database.c - opening SQLite files of profilers. */
#include "reader/profile_database.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"
#include "codec/source.h"

enum { PIECE = 1 << 18 };

/* -- whose is it -- */

static bool is_report(kino_str head)
{
    return kino__str_starts_with(head, KINO__STR("NVIDIA Tegra Profiler Report"));
}

bool kino__profile_database_sniff(kino_str head)
{
    return kino__sqlite_is(head) || is_report(head);
}

typedef enum owner { NSYS, NVPROF, KINO, ROCPD, DLPROF, OTHER } owner;

static bool has(const kino__sqlite *db, const char *table)
{
    return kino__sqlite_find(db, table) != NULL;
}

static bool has_prefix(const kino__sqlite *db, kino_str prefix)
{
    for (size_t i = 0; i < db->tables.count; i++)
        if (kino__str_starts_with(db->tables.items[i].name, prefix))
            return true;
    return false;
}

static owner owner_of(const kino__sqlite *db)
{
    if (has(db, "StringTable") && (has(db, "Version") || has_prefix(db, KINO__STR("CUPTI_"))))
        return NVPROF;
    if (has(db, "StringIds") || has(db, "META_DATA_EXPORT") || has(db, "EXPORT_META_DATA") ||
        has(db, "NVTX_EVENTS") || has_prefix(db, KINO__STR("CUPTI_ACTIVITY_KIND_")))
        return NSYS;
    if (has(db, "event") && has(db, "arg_all"))
        return KINO;
    if (has_prefix(db, KINO__STR("rocpd_")))
        return ROCPD;
    return has(db, "dlprof_dldb") || has(db, "dl_iterations") ? DLPROF : OTHER;
}

static kino_status refuse(owner who, const kino__sqlite *db, kino_error *err)
{
    switch (who) {
    case KINO:
        return kino__fail(
            err, KINO_FORMAT,
            "an SQLite database that 'kino convert' wrote for queries of others: read "
            "the trace it was made from, or convert that to .kino");
    case ROCPD:
        return kino__fail(err, KINO_FORMAT,
                          "a rocpd database of rocprofv3; write a trace that can be read with "
                          "'rocpd2pftrace' or 'rocprofv3 --output-format json'");
    case DLPROF:
        return kino__fail(err, KINO_FORMAT,
                          "a database of DLProf's results; read the export of Nsight Systems that "
                          "it was made from (nsys_profile.sqlite)");
    default:
        return kino__fail(err, KINO_FORMAT,
                          db->tables.count
                              ? "an SQLite database, but not of a profiler: it has neither the "
                                "tables of Nsight Systems nor those of nvprof"
                              : "an SQLite database without tables");
    }
}

/* Rows of a view are made by whatever statement the file holds: not here. */
static kino_status refuse_views(const kino__sqlite *db, kino_error *err)
{
    static const char *const names[] = {"StringIds", "StringTable", "NVTX_EVENTS"};
    for (size_t i = 0; i < db->tables.count; i++) {
        const kino__sqlite_table *t = &db->tables.items[i];
        bool is_ours = kino__str_starts_with(t->name, KINO__STR("CUPTI_ACTIVITY_KIND_"));
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            is_ours |= kino__str_is(t->name, names[k]);
        if (is_ours && t->form != KINO__SQLITE_TABLE)
            return kino__fail(err, KINO_FORMAT, "'%.*s' is %s; only plain tables are read",
                              KINO__STR_ARG(t->name),
                              t->form == KINO__SQLITE_VIEW ? "a view or a virtual table"
                                                           : "a table WITHOUT ROWID");
    }
    return KINO_OK;
}

/* -- the file -- */

/* A journal or a write-ahead log beside the file: its program was writing, or was ended doing so. */
static bool has_unwritten(const char *path)
{
    static const char *const ends[] = {"-journal", "-wal"};
    char name[4096];
    struct stat info;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        int size = snprintf(name, sizeof name, "%s%s", path, ends[i]);
        if (size > 0 && (size_t)size < sizeof name && stat(name, &info) == 0 && info.st_size > 0)
            return true;
    }
    return false;
}

static kino_status load_database(const char *path, kino_str bytes, const kino__file *file,
                                 const kino__load_context *context, kino__trace *trace,
                                 kino_error *err)
{
    kino__sqlite db;
    kino_status st = kino__sqlite_open(&db, bytes, file, &trace->ledger, err);
    owner who = st == KINO_OK ? owner_of(&db) : OTHER;
    if (st == KINO_OK && has_unwritten(path))
        kino__ledger_add(&trace->ledger, KINO__DAMAGE_UNFINISHED, bytes.size);
    if (st == KINO_OK && who != NSYS && who != NVPROF)
        st = refuse(who, &db, err);
    if (st == KINO_OK)
        st = refuse_views(&db, err);
    if (st == KINO_OK)
        st = who == NSYS ? kino__nsys_load(&db, context, trace, err)
                         : kino__nvprof_load(&db, context, trace, err);
    kino__sqlite_close(&db);
    return st;
}

static kino_status unpack(kino__compression compression, kino_str bytes,
                          const kino__load_context *context, kino__buffer *out, bool *is_damaged,
                          kino_error *err)
{
    uint64_t most = kino__load_most(context, bytes.size, KINO__TEXT_RATIO);
    kino__source *source = NULL;
    kino_status st = kino__source_open(compression, bytes, &source, err);
    for (size_t size = PIECE; st == KINO_OK && size == PIECE;) {
        char *at = kino__buffer_reserve(out, PIECE);
        size = at ? kino__source_read(source, at, PIECE, is_damaged) : 0;
        out->size += size;
        if (out->failed)
            st = kino__fail_nomem(err);
        else if (out->size > most)
            st = kino__fail_expansion(bytes.size, most, err);
    }
    kino__source_close(source);
    return st;
}

static kino_status load_packed(const char *path, kino__compression compression, kino_str bytes,
                               const kino__load_context *context, kino__trace *trace,
                               kino_error *err)
{
    kino__buffer whole = {0};
    bool is_damaged = false;
    kino_status st = unpack(compression, bytes, context, &whole, &is_damaged, err);
    trace->text_bytes = whole.size;
    if (st == KINO_OK && is_damaged)
        kino__ledger_add(&trace->ledger, KINO__DAMAGE_COMPRESSION, whole.size);
    if (st == KINO_OK)
        st = load_database(path, kino__buffer_str(&whole), NULL, context, trace, err);
    kino__buffer_deinit(&whole);
    return st;
}

kino_status kino__profile_database_load(const char *path, kino__file *file,
                                        const kino__load_context *context, kino__trace *trace,
                                        kino_error *err)
{
    kino_str bytes = {file->data, file->size};
    kino__compression compression = kino__compression_detect(bytes);
    if (is_report(bytes))
        return kino__fail(err, KINO_FORMAT,
                          "a report of Nsight Systems (.nsys-rep, .qdrep), whose format is not "
                          "published; export it first: nsys export --type sqlite '%s'",
                          path);
    trace->compression = kino__str_from(kino__compression_name(compression));
    trace->file_bytes = file->size;
    trace->text_bytes = file->size;
    kino__progress_stage(context->progress, "reading", 0);
    if (compression != KINO__COMPRESSION_NONE)
        return load_packed(path, compression, bytes, context, trace, err);
    return load_database(path, bytes, file, context, trace, err);
}

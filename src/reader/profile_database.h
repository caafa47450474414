/* profile_database.h - SQLite files of profilers: whose tables they are, and who reads them.
 *
 * Readers are chosen by the first bytes of a file, which all databases have in common: what is in
 * one is seen once its schema was read. */
#ifndef KINO__READER_PROFILE_DATABASE_H
#define KINO__READER_PROFILE_DATABASE_H

#include "reader/reader.h"
#include "reader/sqlite_file.h"

/* An SQLite file, or a report of Nsight Systems that must be exported first? */
bool kino__profile_database_sniff(kino_str head);

/* Opens the database and hands it to the reader of its tables; a database of something else is an
 * error that says of what. */
KINO_NODISCARD kino_status kino__profile_database_load(const char *path, kino__file *file,
                                                       const kino__load_context *context,
                                                       kino__trace *trace, kino_error *err);

/* The readers: the database is borrowed, damage goes to its ledger. */
KINO_NODISCARD kino_status kino__nsys_load(const kino__sqlite *db,
                                           const kino__load_context *context, kino__trace *trace,
                                           kino_error *err);
KINO_NODISCARD kino_status kino__nvprof_load(const kino__sqlite *db,
                                             const kino__load_context *context, kino__trace *trace,
                                             kino_error *err);

#endif

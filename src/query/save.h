/* save.h - the tables of a run as a database file of SQLite. */
#ifndef KINO__QUERY_SAVE_H
#define KINO__QUERY_SAVE_H

#include <kino/base.h>

#include "base/progress.h"
#include "store/run.h"

/* Fills the database `path` (absent or empty: a temporary name, since a failure leaves it broken)
 * with all tables of query.h, so that the same SQL gives the same answers there. `label` is the
 * file's name in messages. Fails with KINO_IO, KINO_NOMEM, KINO_CANCELLED ("interrupted"). */
KINO_NODISCARD kino_status kino__query_save(const kino__run *run, const char *path,
                                            const char *label, kino__progress *progress,
                                            kino_error *err);

#endif

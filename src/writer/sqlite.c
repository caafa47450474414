/* sqlite.c - a run as a database of SQLite: the tables of kino query in a file, for every tool that
 * reads such files. What is in it is docs/formats/sqlite.md; how it is made is query/save.c. */
#include "query/save.h"
#include "writer/writer.h"

static kino_status write_file(const kino__run *run, const char *path,
                              const kino__write_context *context, kino_error *err)
{
    return kino__query_save(run, path, context->label ? context->label : path, context->progress,
                            err);
}

const kino__writer_def kino__writer_sqlite = {
    .name = "sqlite",
    .suffix = ".sqlite",
    .other_suffix = ".db",
    .help = "SQLite database with the tables of kino query",
    .takes_runs = true,
    .write_file = write_file,
};

/* write_text.c - see the header. */
#include "unit/write_text.h"

#include "unit/test.h"

kino__buffer write_text(const kino__writer_def *writer, kino__trace *const *traces, size_t count,
                        kino__write_context context, unsigned jobs, kino_status *st)
{
    kino__buffer text = {0};
    kino__sink *sink = NULL;
    kino__run run;
    kino__run_init(&run);
    for (size_t i = 0; i < count; i++)
        REQUIRE_EQ(kino__run_add_take(&run, traces[i], NULL), KINO_OK);
    REQUIRE_EQ(kino__memory_sink_new(&text, &sink, NULL), KINO_OK);
    REQUIRE_EQ(kino__pool_new(jobs, &context.pool, NULL), KINO_OK);
    kino_error err = {0};
    kino_status done = writer->write(&run, sink, &context, &err);
    if (st)
        *st = done;
    else if (!CHECK_EQ(done, KINO_OK))
        printf("    %s\n", err.message);
    kino__pool_free(context.pool);
    CHECK_EQ(kino__sink_close(sink, true, NULL), KINO_OK);
    kino__run_deinit(&run);
    return text;
}

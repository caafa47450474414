/* writer.c - the list of formats that can be written. */
#include "writer/writer.h"

#include "base/error.h"

static const kino__writer_def *const writers[] = {
#define WRITER(name) &kino__writer_##name,
#include "writer/writers.def"
#undef WRITER
};

const kino__writer_def *kino__writer_at(size_t index)
{
    return index < sizeof writers / sizeof *writers ? writers[index] : NULL;
}

kino_status kino__writer_fail_empty(const kino__write_context *context, kino_error *err)
{
    return kino__fail_file(err, KINO_NOT_FOUND, "write", context->label ? context->label : "stacks",
                           "%s", kino__stack_why_empty(context->stack_kind));
}

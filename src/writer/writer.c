/* writer.c - the list of formats that can be written. */
#include "writer/writer.h"

static const kino__writer_def *const writers[] = {
#define WRITER(name) &kino__writer_##name,
#include "writer/writers.def"
#undef WRITER
};

const kino__writer_def *kino__writer_at(size_t index)
{
    return index < sizeof writers / sizeof *writers ? writers[index] : NULL;
}

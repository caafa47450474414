/* gzip_sink.c - a sink that compresses to one gzip member: ISA-L where the build has it, zlib
 * elsewhere.
 *
 * Level 2 of ISA-L makes traces about as small as zlib's level 2 at several times its speed; zlib
 * runs at level 3. Both give a valid header, CRC and length. Output goes on in pieces of 256 KiB.
 */
#include <stdlib.h>

#include "base/error.h"
#include "codec/sink_internal.h"

enum { OUTPUT_BYTES = 256 << 10 };

#ifdef HAVE_ISAL
#    include <isa-l/igzip_lib.h>

enum { LEVEL = 2, LEVEL_BYTES = ISAL_DEF_LVL2_DEFAULT };

typedef struct compressor {
    struct isal_zstream stream;
    uint8_t level_buffer[LEVEL_BYTES];
} compressor;

static bool compressor_start(compressor *c)
{
    isal_deflate_init(&c->stream);
    c->stream.level = LEVEL;
    c->stream.level_buf = c->level_buffer;
    c->stream.level_buf_size = LEVEL_BYTES;
    c->stream.gzip_flag = IGZIP_GZIP;
    return true;
}

/* Compresses some of *in into out; returns the bytes made. *is_done: with is_end, the stream is
 * complete. */
static size_t compressor_run(compressor *c, kino_str *in, bool is_end, char *out, bool *is_done)
{
    uint32_t chunk = in->size > 1u << 30 ? 1u << 30 : (uint32_t)in->size;
    c->stream.next_in = (uint8_t *)(uintptr_t)in->data;
    c->stream.avail_in = chunk;
    c->stream.next_out = (uint8_t *)out;
    c->stream.avail_out = OUTPUT_BYTES;
    c->stream.end_of_stream = is_end && chunk == in->size;
    c->stream.flush = NO_FLUSH;
    int code = isal_deflate(&c->stream);
    size_t used = chunk - c->stream.avail_in;
    in->data += used;
    in->size -= used;
    *is_done = code != COMP_OK || (is_end && c->stream.internal_state.state == ZSTATE_END);
    return OUTPUT_BYTES - c->stream.avail_out;
}

static void compressor_stop(compressor *c)
{
    (void)c;
}

#else
#    include <zlib.h>

enum { LEVEL = 3, GZIP_WINDOW = 15 + 16 };

typedef struct compressor {
    z_stream stream;
} compressor;

static bool compressor_start(compressor *c)
{
    return deflateInit2(&c->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK;
}

static size_t compressor_run(compressor *c, kino_str *in, bool is_end, char *out, bool *is_done)
{
    unsigned chunk = in->size > 1u << 30 ? 1u << 30 : (unsigned)in->size;
    c->stream.next_in = (Bytef *)(uintptr_t)in->data;
    c->stream.avail_in = chunk;
    c->stream.next_out = (Bytef *)out;
    c->stream.avail_out = OUTPUT_BYTES;
    int code = deflate(&c->stream, is_end && chunk == in->size ? Z_FINISH : Z_NO_FLUSH);
    size_t used = chunk - c->stream.avail_in;
    in->data += used;
    in->size -= used;
    *is_done = code == Z_STREAM_END;
    return OUTPUT_BYTES - c->stream.avail_out;
}

static void compressor_stop(compressor *c)
{
    (void)deflateEnd(&c->stream);
}
#endif

typedef struct gzip_sink {
    kino__pack_sink pack;
    compressor compressor;
    char output[OUTPUT_BYTES];
} gzip_sink;

/* Feeds all of `bytes`; with is_end also what the compressor still holds. */
static kino_status feed(kino__pack_sink *sink, kino_str bytes, bool is_end, kino_error *err)
{
    gzip_sink *self = (gzip_sink *)sink;
    bool is_done = false;
    size_t made = 0;
    do {
        made = compressor_run(&self->compressor, &bytes, is_end, self->output, &is_done);
        if (made)
            KINO_TRY(kino__sink_write(sink->inner, (kino_str){self->output, made}, err));
    } while (is_end ? !is_done : bytes.size || made == OUTPUT_BYTES);
    return KINO_OK;
}

static void stop(kino__pack_sink *sink)
{
    compressor_stop(&((gzip_sink *)sink)->compressor);
}

kino_status kino__gzip_sink_take(kino__sink **sink, kino_error *err)
{
    kino__sink *inner = *sink;
    *sink = NULL;
    gzip_sink *self = calloc(1, sizeof *self);
    if (!self || !compressor_start(&self->compressor)) {
        free(self);
        (void)kino__sink_close(inner, false, NULL);
        return kino__fail_nomem(err);
    }
    kino__pack_sink_init(&self->pack, inner);
    self->pack.feed = feed;
    self->pack.stop = stop;
    *sink = &self->pack.sink;
    return KINO_OK;
}

/* gzip_source_isal.c - gzip through ISA-L, several times faster than zlib; gzip_source_zlib.c is
 * the fallback.
 *
 * ISA-L's state is one flat struct that also holds the 32 KiB of history, so copying it is a
 * restart point. */
#ifdef HAVE_ISAL

#    include <isa-l/igzip_lib.h>
#    include <stdlib.h>
#    include <string.h>

#    include "codec/source_internal.h"

typedef struct gzip_source {
    kino__source base;
    struct inflate_state state;
    size_t given; /* compressed bytes handed to the state */
    bool is_done;
} gzip_source;

/* The state counts input in 32 bits: larger files are handed over in parts. */
static void give_input(gzip_source *self)
{
    size_t left = self->base.bytes.size - self->given;
    uint32_t part = left > (1u << 30) ? 1u << 30 : (uint32_t)left;
    self->state.next_in = (uint8_t *)(uintptr_t)(self->base.bytes.data + self->given);
    self->state.avail_in = part;
    self->given += part;
}

/* Another member may follow; zero padding behind the last one is normal. */
static bool start_next_member(gzip_source *self)
{
    size_t used = self->given - self->state.avail_in;
    kino_str rest = {self->base.bytes.data + used, self->base.bytes.size - used};
    if (rest.size < 18 || (uint8_t)rest.data[0] != 0x1f || (uint8_t)rest.data[1] != 0x8b)
        return false;
    isal_inflate_init(&self->state);
    self->state.crc_flag = ISAL_GZIP;
    self->given = used;
    give_input(self);
    return true;
}

static size_t gzip_read(kino__source *source, char *out, size_t size, bool *is_damaged)
{
    gzip_source *self = (gzip_source *)source;
    size_t done = 0;
    while (done < size && !self->is_done) {
        size_t room = size - done > (1u << 30) ? 1u << 30 : size - done;
        self->state.next_out = (uint8_t *)out + done;
        self->state.avail_out = (uint32_t)room;
        int result = isal_inflate(&self->state);
        size_t made = room - self->state.avail_out;
        done += made;
        if (result != ISAL_DECOMP_OK) {
            *is_damaged = self->is_done = true;
        } else if (self->state.block_state == ISAL_BLOCK_FINISH) {
            self->is_done = !start_next_member(self);
        } else if (self->state.avail_in == 0 && self->given < self->base.bytes.size) {
            give_input(self);
        } else if (made == 0 && self->state.avail_in == 0) {
            *is_damaged = self->is_done = true; /* cut off */
        }
    }
    return done;
}

static uint64_t gzip_consumed(const kino__source *source)
{
    const gzip_source *self = (const gzip_source *)source;
    return self->given - self->state.avail_in;
}

static kino__source *gzip_copy(const kino__source *source)
{
    gzip_source *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    memcpy(copy, source, sizeof *copy);
    return &copy->base;
}

static void gzip_close(kino__source *source)
{
    free(source);
}

static const kino__source_class gzip_class = {gzip_read, gzip_consumed, gzip_copy, gzip_close};

kino__source *kino__gzip_source_new(kino_str bytes)
{
    gzip_source *self = malloc(sizeof *self);
    if (!self)
        return NULL;
    memset(self, 0, sizeof *self);
    self->base = (kino__source){&gzip_class, bytes};
    isal_inflate_init(&self->state);
    self->state.crc_flag = ISAL_GZIP;
    give_input(self);
    return &self->base;
}

#else
typedef int kino__gzip_source_is_zlib; /* a translation unit is not empty */
#endif

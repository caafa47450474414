/* crc32c.h - the checksum of everything we write: CRC-32C (Castagnoli), by the processor's own
 * instruction where it has one. Finds every single flipped bit and every burst up to 32 bits. */
#ifndef KINO__WIRE_CRC32C_H
#define KINO__WIRE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Goes on from `crc` (0 at the start). */
uint32_t kino__crc32c(uint32_t crc, const void *data, size_t size);

/* The same without the instruction: the fallback, and what tests compare with. */
uint32_t kino__crc32c_plain(uint32_t crc, const void *data, size_t size);

#endif

/* crc32c.c - CRC-32C: three streams at once with the instruction, a table without.
 *
 * One crc32 instruction takes three cycles but a new one can start in each, so three parts of a
 * block are done side by side and joined: the crc of A is moved over the length of B by a
 * multiplication in GF(2), which tables of the block length's powers do in four look-ups. */
#include "wire/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { PART = 1024 };          /* bytes of one stream in a block */
#define POLYNOMIAL 0x82f63b78u /* reversed */

/* Made once, then constant.
 * NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables) */
static uint32_t byte_table[256];
static uint32_t shift_table[4][256]; /* crc of a byte of the crc, followed by PART zero bytes */
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

static uint32_t bytewise(uint32_t crc, const unsigned char *at, size_t size)
{
    while (size--)
        crc = byte_table[(crc ^ *at++) & 0xff] ^ crc >> 8;
    return crc;
}

static uint32_t over_zeros(uint32_t crc)
{
    for (unsigned i = 0; i < PART; i++)
        crc = byte_table[crc & 0xff] ^ crc >> 8;
    return crc;
}

static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
        byte_table[i] = crc;
    }
    for (unsigned part = 0; part < 4; part++)
        for (uint32_t i = 0; i < 256; i++)
            shift_table[part][i] = over_zeros(i << (8 * part));
}

uint32_t kino__crc32c_plain(uint32_t crc, const void *data, size_t size)
{
    pthread_once(&tables_once, make_tables);
    return ~bytewise(~crc, data, size);
}

#if defined(__x86_64__)
static uint32_t shift_part(uint32_t crc)
{
    return shift_table[0][crc & 0xff] ^ shift_table[1][crc >> 8 & 0xff] ^
           shift_table[2][crc >> 16 & 0xff] ^ shift_table[3][crc >> 24];
}

static uint64_t load(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t crc, const unsigned char *at, size_t size)
{
    for (; size >= 3 * (size_t)PART; size -= 3 * (size_t)PART, at += 3 * (size_t)PART) {
        uint64_t a = crc, b = 0, c = 0;
        for (size_t i = 0; i < PART; i += 8) {
            a = __builtin_ia32_crc32di(a, load(at + i));
            b = __builtin_ia32_crc32di(b, load(at + PART + i));
            c = __builtin_ia32_crc32di(c, load(at + 2 * (size_t)PART + i));
        }
        crc = shift_part(shift_part((uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
    }
    uint64_t word = crc;
    for (; size >= 8; size -= 8, at += 8)
        word = __builtin_ia32_crc32di(word, load(at));
    crc = (uint32_t)word;
    while (size--)
        crc = __builtin_ia32_crc32qi(crc, *at++);
    return crc;
}
#endif

uint32_t kino__crc32c(uint32_t crc, const void *data, size_t size)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) {
        pthread_once(&tables_once, make_tables);
        return ~by_instruction(~crc, data, size);
    }
#endif
    return kino__crc32c_plain(crc, data, size);
}

/* test_wire_crc32c.c - the checksum: known values, and the instruction against the plain loop. */
#include <stdlib.h>

#include "base/str.h"
#include "unit/fixture.h"
#include "unit/test.h"
#include "wire/crc32c.h"

TEST(crc32c_has_the_values_of_rfc_3720)
{
    /* appendix B.4: 32 zeros, 32 ones, rising, falling, an iSCSI read command */
    unsigned char zeros[32] = {0}, ones[32], rising[32], falling[32];
    static const unsigned char command[48] = {
        0x01, 0xc0, 0, 0, 0, 0, 0,    0, 0,    0, 0, 0,    0, 0, 0, 0,
        0x14, 0,    0, 0, 0, 0, 0x04, 0, 0,    0, 0, 0x14, 0, 0, 0, 0x18,
        0x28, 0,    0, 0, 0, 0, 0,    0, 0x02, 0, 0, 0,    0, 0, 0, 0};
    for (unsigned i = 0; i < 32; i++) {
        ones[i] = 0xff;
        rising[i] = (unsigned char)i;
        falling[i] = (unsigned char)(31 - i);
    }
    const struct {
        const void *data;
        size_t size;
        uint32_t want;
    } cases[] = {{zeros, 32, 0x8a9136aa},
                 {ones, 32, 0x62a8ab43},
                 {rising, 32, 0x46dd794e},
                 {falling, 32, 0x113fdb5c},
                 {command, 48, 0xd9963a56},
                 {"123456789", 9, 0xe3069283},
                 {"", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ(kino__crc32c(0, cases[i].data, cases[i].size), cases[i].want);
        CHECK_EQ(kino__crc32c_plain(0, cases[i].data, cases[i].size), cases[i].want);
    }
}

TEST(crc32c_by_instruction_is_the_plain_one_at_every_size_and_offset)
{
    enum { SIZE = 8200 };
    unsigned char *bytes = malloc(SIZE);
    REQUIRE(bytes != NULL);
    fixture_random random = {7};
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)fixture_random_below(&random, 256);
    /* around the parts of 1024 bytes, three of which are done side by side */
    for (size_t size = 0; size <= 64; size++)
        for (size_t offset = 0; offset < 9; offset++)
            CHECK_EQ(kino__crc32c(0, bytes + offset, size),
                     kino__crc32c_plain(0, bytes + offset, size));
    for (size_t size = 3060; size <= 3090; size++)
        CHECK_EQ(kino__crc32c(1, bytes + size % 8, size),
                 kino__crc32c_plain(1, bytes + size % 8, size));
    for (unsigned i = 0; i < 300; i++) {
        size_t offset = fixture_random_below(&random, 100);
        size_t size = fixture_random_below(&random, SIZE - 100);
        if (!CHECK_EQ(kino__crc32c(i, bytes + offset, size),
                      kino__crc32c_plain(i, bytes + offset, size)))
            break;
    }
    free(bytes);
}

TEST(crc32c_goes_on_where_it_stopped)
{
    char text[5000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 31);
    uint32_t whole = kino__crc32c(0, text, sizeof text);
    for (size_t cut = 0; cut <= sizeof text; cut += 97)
        CHECK_EQ(kino__crc32c(kino__crc32c(0, text, cut), text + cut, sizeof text - cut), whole);
}

/* test_wire_fabric.c - the daemon's datagrams, byte by byte; the examples are those of libkineto's
 * and Dynolog's wire, taken down from running programs. */
#include <stddef.h>
#include <string.h>

#include "unit/test.h"
#include "wire/fabric.h"

static kino_error err;
static unsigned char out[KINO__FABRIC_DATAGRAM_MAX];

static bool bytes_are(const void *got, size_t got_size, const char *want, size_t want_size)
{
    return got_size == want_size && memcmp(got, want, want_size) == 0;
}

#define ZEROS_4  "\0\0\0\0"
#define ZEROS_28 ZEROS_4 ZEROS_4 ZEROS_4 ZEROS_4 ZEROS_4 ZEROS_4 ZEROS_4

TEST(fabric_poll_bytes)
{
    kino__fabric_poll poll = {.mask = KINO__FABRIC_ACTIVITIES, .pid_count = 2, .pids = {700, 650}};
    static const char want[] = "\x18\0\0\0\0\0\0\0req\0" ZEROS_28
                               "\x02\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\xbc\x02\0\0\x8a\x02\0";
    size_t size = kino__fabric_put_poll(&poll, out, sizeof out);
    CHECK_EQ(size, 64);
    CHECK(bytes_are(out, size, want, sizeof want));
    poll = (kino__fabric_poll){
        .mask = KINO__FABRIC_ACTIVITIES, .job = 4242, .pid_count = 3, .pids = {2587, 2583, 2557}};
    static const char want_2[] =
        "\x1c\0\0\0\0\0\0\0req\0" ZEROS_28 "\x02\0\0\0\x03\0\0\0\x92\x10\0\0\0\0\0\0"
        "\x1b\x0a\0\0\x17\x0a\0\0\xfd\x09\0";
    size = kino__fabric_put_poll(&poll, out, sizeof out);
    CHECK_EQ(size, 68);
    CHECK(bytes_are(out, size, want_2, sizeof want_2));
}

TEST(fabric_poll_is_read_again)
{
    kino__fabric_poll poll = {.mask = 3, .job = -5, .pid_count = 11}, got;
    kino__fabric_message message;
    for (int i = 0; i < 11; i++)
        poll.pids[i] = 1000 + i;
    size_t size = kino__fabric_put_poll(&poll, out, sizeof out);
    REQUIRE_EQ(kino__fabric_read((kino_str){(char *)out, size}, &message, &err), KINO_OK);
    CHECK_EQ(message.kind, KINO__FABRIC_REQ);
    REQUIRE_EQ(kino__fabric_read_poll(message.payload, &got, &err), KINO_OK);
    CHECK_EQ(got.mask, 3);
    CHECK_EQ(got.job, -5);
    REQUIRE_EQ(got.pid_count, 11);
    CHECK_EQ(got.pids[0], 1000);
    CHECK_EQ(got.pids[10], 1010);
}

TEST(fabric_poll_that_lies_is_refused)
{
    kino__fabric_poll poll = {.pid_count = 2, .pids = {5, 6}}, got;
    (void)kino__fabric_put_poll(&poll, out, sizeof out);
    char *payload = (char *)out + 40;
    static const struct {
        int count;
        size_t size;
        const char *message;
    } cases[] = {
        {2, 24, ""},
        {2, 23, "invalid poll: 2 pids in 23 bytes"},
        {2, 25, "invalid poll: 2 pids in 25 bytes"},
        {2, 15, "invalid poll: 15 bytes"},
        {2, 0, "invalid poll: 0 bytes"},
        {0, 16, "invalid poll: 0 pids"},
        {-1, 16, "invalid poll: -1 pids"},
        {1025, 24, "invalid poll: 1025 pids"},
        {0x40000000, 16, "invalid poll: 1073741824 pids"}, /* times 4 is 0 in 32 bits */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(payload + 4, &cases[i].count, 4);
        kino_status st = kino__fabric_read_poll((kino_str){payload, cases[i].size}, &got, &err);
        CHECK_EQ(st, cases[i].message[0] ? KINO_FORMAT : KINO_OK);
        CHECK_STR(st == KINO_OK ? "" : err.message, cases[i].message);
        CHECK_EQ(got.pid_count, st == KINO_OK ? 2 : 0);
    }
}

TEST(fabric_context_bytes)
{
    kino__fabric_context context = {.gpu = 0, .pid = 2587, .job = 4242}, got;
    kino__fabric_message message;
    static const char want[] =
        "\x10\0\0\0\0\0\0\0ctxt" ZEROS_28 "\0\0\0\0\x1b\x0a\0\0\x92\x10\0\0\0\0\0";
    size_t size = kino__fabric_put_context(&context, out, sizeof out);
    CHECK_EQ(size, 56);
    CHECK(bytes_are(out, size, want, sizeof want));
    REQUIRE_EQ(kino__fabric_read((kino_str){(char *)out, size}, &message, &err), KINO_OK);
    CHECK_EQ(message.kind, KINO__FABRIC_CTXT);
    REQUIRE_EQ(kino__fabric_read_context(message.payload, &got, &err), KINO_OK);
    CHECK_EQ(got.pid, 2587);
    CHECK_EQ(got.job, 4242);
    message.payload.size--;
    CHECK_EQ(kino__fabric_read_context(message.payload, &got, &err), KINO_FORMAT);
    CHECK_STR(err.message, "invalid context: 15 bytes");
    /* and its answer */
    static const char count[] = "\x04\0\0\0\0\0\0\0ctxt" ZEROS_28 "\x01\0\0";
    int32_t number;
    size = kino__fabric_put_count(1, out, sizeof out);
    CHECK(bytes_are(out, size, count, sizeof count));
    size = kino__fabric_put_count(-1, out, sizeof out);
    REQUIRE_EQ(kino__fabric_read((kino_str){(char *)out, size}, &message, &err), KINO_OK);
    REQUIRE_EQ(kino__fabric_read_count(message.payload, &number, &err), KINO_OK);
    CHECK_EQ(number, -1);
    CHECK_EQ(kino__fabric_read_count(KINO__STR("abc"), &number, &err), KINO_FORMAT);
}

TEST(fabric_text_bytes)
{
    static const char nothing[] = "\0\0\0\0\0\0\0\0req" ZEROS_28; /* 40 with the literal's own 0 */
    size_t size = kino__fabric_put_text((kino_str){NULL, 0}, out, sizeof out);
    CHECK(bytes_are(out, size, nothing, 40));
    kino__fabric_message message;
    size = kino__fabric_put_text(KINO__STR("A=1\n"), out, sizeof out);
    CHECK_EQ(size, 44);
    REQUIRE_EQ(kino__fabric_read((kino_str){(char *)out, size}, &message, &err), KINO_OK);
    CHECK_STR(message.payload, "A=1\n");
    /* what does not fit is not written */
    CHECK_EQ(kino__fabric_put_text(KINO__STR("A=1\n"), out, 43), 0);
    CHECK_EQ(kino__fabric_put_text(KINO__STR(""), out, 39), 0);
    kino__fabric_poll poll = {.pid_count = 1};
    CHECK_EQ(kino__fabric_put_poll(&poll, out, 59), 0);
    CHECK_EQ(kino__fabric_put_poll(&poll, out, 60), 60);
    poll.pid_count = 0;
    CHECK_EQ(kino__fabric_put_poll(&poll, out, sizeof out), 0);
}

TEST(fabric_datagrams_that_lie_are_refused)
{
    kino__fabric_message message;
    size_t size = kino__fabric_put_text(KINO__STR("A=1\n"), out, sizeof out);
    CHECK_EQ(kino__fabric_read((kino_str){(char *)out, size - 1}, &message, &err), KINO_FORMAT);
    CHECK_STR(err.message, "datagram claims 4 bytes but has 3");
    CHECK_EQ(kino__fabric_read((kino_str){(char *)out, size + 1}, &message, &err), KINO_FORMAT);
    CHECK_EQ(kino__fabric_read((kino_str){(char *)out, 39}, &message, &err), KINO_FORMAT);
    CHECK_STR(err.message, "datagram of 39 bytes is shorter than its header");
    CHECK_EQ(kino__fabric_read((kino_str){NULL, 0}, &message, &err), KINO_FORMAT);
    memset(out, 0xff, 8);
    CHECK_EQ(kino__fabric_read((kino_str){(char *)out, size}, &message, &err), KINO_FORMAT);
    CHECK_STR(err.message, "datagram claims 18446744073709551615 bytes but has 4");
    size = kino__fabric_put_text(KINO__STR(""), out, sizeof out);
    memcpy(out + 8, "data", 4);
    REQUIRE_EQ(kino__fabric_read((kino_str){(char *)out, size}, &message, &err), KINO_OK);
    CHECK_EQ(message.kind, KINO__FABRIC_OTHER);
}

TEST(fabric_addresses)
{
    kino__fabric_address address, other;
    REQUIRE_EQ(kino__fabric_address_make(NULL, "dynolog", &address, &err), KINO_OK);
    CHECK_EQ(address.size, 11);
    CHECK(bytes_are(&address.name, 11, "\x01\0\0dynolog", 11));
    REQUIRE_EQ(kino__fabric_address_make("", "dynolog", &other, &err), KINO_OK);
    CHECK(kino__fabric_address_equal(&address, &other));
    REQUIRE_EQ(kino__fabric_address_make("/run/x", "dynolog", &other, &err), KINO_OK);
    CHECK(!kino__fabric_address_equal(&address, &other));
    CHECK_EQ(other.size, 2 + strlen("/run/x/dynolog") + 1);
    CHECK_STR(other.name.sun_path, "/run/x/dynolog");
    /* 54 + 1 + 52 + NUL = 108 */
    char folder[56], name[53];
    memset(folder, 'd', sizeof folder);
    memset(name, 'n', sizeof name);
    folder[54] = name[52] = '\0';
    CHECK_EQ(kino__fabric_address_make(folder, name, &other, &err), KINO_OK);
    CHECK_EQ(other.size, 110);
    folder[54] = 'd';
    folder[55] = '\0';
    CHECK_EQ(kino__fabric_address_make(folder, name, &other, &err), KINO_ARGUMENT);
    CHECK(strstr(err.message, "at most 54 bytes with names of 52") != NULL);
    char longest[108];
    memset(longest, 'n', sizeof longest);
    longest[106] = '\0';
    CHECK_EQ(kino__fabric_address_make(NULL, longest, &other, &err), KINO_OK);
    CHECK_EQ(other.size, 110);
    longest[106] = 'n';
    longest[107] = '\0';
    CHECK_EQ(kino__fabric_address_make(NULL, longest, &other, &err), KINO_ARGUMENT);
    CHECK_EQ(kino__fabric_address_make(NULL, "", &other, &err), KINO_ARGUMENT);
}

/* fabric.c - any bytes as a datagram of the daemon's fabric: never out of bounds, and what is
 * accepted says the same when it is written again. */
#include "wire/fabric.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static void check_poll(kino_str payload, unsigned char *out, size_t room)
{
    kino__fabric_poll *poll = malloc(sizeof *poll);
    kino_error err;
    if (!poll)
        return;
    if (kino__fabric_read_poll(payload, poll, &err) == KINO_OK) {
        require(poll->pid_count > 0 && poll->pid_count <= KINO__FABRIC_PIDS_MAX);
        size_t size = kino__fabric_put_poll(poll, out, room);
        require(size == KINO__FABRIC_HEADER_BYTES + payload.size);
        require(memcmp(out + KINO__FABRIC_HEADER_BYTES, payload.data, payload.size) == 0);
    } else {
        require(err.message[0] && poll->pid_count == 0);
    }
    free(poll);
}

static void check_context(kino_str payload, unsigned char *out, size_t room)
{
    kino__fabric_context context;
    kino_error err;
    int32_t count;
    if (kino__fabric_read_context(payload, &context, &err) == KINO_OK) {
        require(kino__fabric_put_context(&context, out, room) == KINO__FABRIC_HEADER_BYTES + 16);
        require(memcmp(out + KINO__FABRIC_HEADER_BYTES, payload.data, 16) == 0);
    }
    if (kino__fabric_read_count(payload, &count, &err) == KINO_OK) {
        require(kino__fabric_put_count(count, out, room) == KINO__FABRIC_HEADER_BYTES + 4);
        require(memcmp(out + KINO__FABRIC_HEADER_BYTES, payload.data, 4) == 0);
    }
}

static void check_report(kino_str payload, unsigned char *out, size_t room)
{
    kino__fabric_report report;
    kino_error err;
    if (kino__fabric_read_report(payload, &report, &err) == KINO_OK) {
        size_t size = kino__fabric_put_report(&report, out, room);
        require(size == KINO__FABRIC_HEADER_BYTES + payload.size);
        require(memcmp(out + KINO__FABRIC_HEADER_BYTES, payload.data, payload.size) == 0);
    } else {
        require(err.message[0] && report.text.size == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char out[KINO__FABRIC_DATAGRAM_MAX];
    kino__fabric_message message;
    kino_error err;
    kino_str datagram = {(const char *)data, size};
    if (kino__fabric_read(datagram, &message, &err) != KINO_OK) {
        require(err.message[0] && message.payload.size == 0);
        return 0;
    }
    require(message.payload.size == size - KINO__FABRIC_HEADER_BYTES);
    check_poll(message.payload, out, sizeof out);
    check_context(message.payload, out, sizeof out);
    check_report(message.payload, out, sizeof out);
    if (message.payload.size <= KINO__FABRIC_TEXT_MAX)
        require(kino__fabric_put_text(message.payload, out, sizeof out) == size);
    return 0;
}

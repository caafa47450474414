/* fabric.c - writing and reading the daemon's datagrams; both sides use it. */
#include "wire/fabric.h"

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "wire/bytes.h"

kino_status kino__fabric_address_make(const char *folder, const char *name,
                                      kino__fabric_address *out, kino_error *err)
{
    bool is_abstract = !folder || !folder[0];
    *out = (kino__fabric_address){0};
    out->name.sun_family = AF_UNIX;
    char *path = out->name.sun_path;
    size_t room = sizeof out->name.sun_path, length = strlen(name);
    if (!name[0])
        return kino__fail(err, KINO_ARGUMENT, "missing socket name");
    if (is_abstract) {
        if (length + 2 > room)
            return kino__fail(err, KINO_ARGUMENT, "socket name '%s' is too long", name);
        memcpy(path + 1, name, length + 1); /* the NUL behind it is part of the name */
        out->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 2);
        return KINO_OK;
    }
    int size = snprintf(path, room, "%s/%s", folder, name);
    if (size < 0 || (size_t)size >= room)
        return kino__fail(
            err, KINO_ARGUMENT,
            "socket directory '%s' is too long: at most %zu bytes with names of %zu bytes", folder,
            room - length - 2, length);
    out->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)size + 1);
    return KINO_OK;
}

bool kino__fabric_address_equal(const kino__fabric_address *a, const kino__fabric_address *b)
{
    return a->size == b->size && memcmp(&a->name, &b->name, a->size) == 0;
}

void kino__fabric_header(const char *type, uint64_t payload_bytes,
                         unsigned char out[KINO__FABRIC_HEADER_BYTES])
{
    memset(out, 0, KINO__FABRIC_HEADER_BYTES);
    kino__put_le(out, payload_bytes, 8);
    memcpy(out + 8, type, strnlen(type, KINO__FABRIC_TYPE_BYTES - 1));
}

/* The header into `out` when all fits; the payload's place, or NULL. */
static unsigned char *begin(const char *type, size_t payload, void *out, size_t size)
{
    if (size < KINO__FABRIC_HEADER_BYTES || payload > size - KINO__FABRIC_HEADER_BYTES)
        return NULL;
    kino__fabric_header(type, payload, out);
    return (unsigned char *)out + KINO__FABRIC_HEADER_BYTES;
}

size_t kino__fabric_put_poll(const kino__fabric_poll *poll, void *out, size_t size)
{
    if (poll->pid_count == 0 || poll->pid_count > KINO__FABRIC_PIDS_MAX)
        return 0;
    size_t payload = KINO__FABRIC_POLL_BYTES + 4 * (size_t)poll->pid_count;
    unsigned char *at = begin("req", payload, out, size);
    if (!at)
        return 0;
    kino__put_le(at, (uint32_t)poll->mask, 4);
    kino__put_le(at + 4, poll->pid_count, 4);
    kino__put_le(at + 8, (uint64_t)poll->job, 8);
    for (uint32_t i = 0; i < poll->pid_count; i++)
        kino__put_le(at + KINO__FABRIC_POLL_BYTES + 4 * (size_t)i, (uint32_t)poll->pids[i], 4);
    return KINO__FABRIC_HEADER_BYTES + payload;
}

size_t kino__fabric_put_context(const kino__fabric_context *context, void *out, size_t size)
{
    unsigned char *at = begin("ctxt", 16, out, size);
    if (!at)
        return 0;
    kino__put_le(at, (uint32_t)context->gpu, 4);
    kino__put_le(at + 4, (uint32_t)context->pid, 4);
    kino__put_le(at + 8, (uint64_t)context->job, 8);
    return KINO__FABRIC_HEADER_BYTES + 16;
}

size_t kino__fabric_put_text(kino_str text, void *out, size_t size)
{
    unsigned char *at = begin("req", text.size, out, size);
    if (!at)
        return 0;
    if (text.size)
        memcpy(at, text.data, text.size);
    return KINO__FABRIC_HEADER_BYTES + text.size;
}

size_t kino__fabric_put_count(int32_t count, void *out, size_t size)
{
    unsigned char *at = begin("ctxt", 4, out, size);
    if (!at)
        return 0;
    kino__put_le(at, (uint32_t)count, 4);
    return KINO__FABRIC_HEADER_BYTES + 4;
}

size_t kino__fabric_put_report(const kino__fabric_report *report, void *out, size_t size)
{
    kino_str text = report->text;
    if (text.size > KINO__FABRIC_REPORT_TEXT_MAX)
        text.size = KINO__FABRIC_REPORT_TEXT_MAX;
    unsigned char *at = begin("kino", KINO__FABRIC_REPORT_BYTES + text.size, out, size);
    if (!at)
        return 0;
    kino__put_le(at, report->event, 4);
    kino__put_le(at + 4, 0, 4);
    kino__put_le(at + 8, report->request, 8);
    kino__put_le(at + 16, (uint64_t)report->bytes, 8);
    if (text.size)
        memcpy(at + KINO__FABRIC_REPORT_BYTES, text.data, text.size);
    return KINO__FABRIC_HEADER_BYTES + KINO__FABRIC_REPORT_BYTES + text.size;
}

kino_status kino__fabric_read(kino_str datagram, kino__fabric_message *out, kino_error *err)
{
    *out = (kino__fabric_message){KINO__FABRIC_OTHER, {"", 0}};
    if (datagram.size < KINO__FABRIC_HEADER_BYTES)
        return kino__fail(err, KINO_FORMAT, "datagram of %zu bytes is shorter than its header",
                          datagram.size);
    uint64_t payload = kino__get_le(datagram.data, 8);
    size_t real = datagram.size - KINO__FABRIC_HEADER_BYTES;
    if (payload != real)
        return kino__fail(err, KINO_FORMAT, "datagram claims %llu bytes but has %zu",
                          (unsigned long long)payload, real);
    const char *type = datagram.data + 8;
    if (memcmp(type, "ctxt", 4) == 0)
        out->kind = KINO__FABRIC_CTXT;
    else if (memcmp(type, "req", 3) == 0)
        out->kind = KINO__FABRIC_REQ;
    else if (memcmp(type, "kino", 5) == 0)
        out->kind = KINO__FABRIC_REPORT;
    out->payload = (kino_str){datagram.data + KINO__FABRIC_HEADER_BYTES, real};
    return KINO_OK;
}

kino_status kino__fabric_read_poll(kino_str payload, kino__fabric_poll *out, kino_error *err)
{
    kino__bytes bytes = kino__bytes_start(payload);
    out->mask = (int32_t)kino__bytes_get(&bytes, 4);
    int32_t count = (int32_t)kino__bytes_get(&bytes, 4);
    out->job = (int64_t)kino__bytes_get(&bytes, 8);
    out->pid_count = 0;
    if (bytes.failed)
        return kino__fail(err, KINO_FORMAT, "invalid poll: %zu bytes", payload.size);
    if (count <= 0 || count > KINO__FABRIC_PIDS_MAX)
        return kino__fail(err, KINO_FORMAT, "invalid poll: %d pids", count);
    if (payload.size != KINO__FABRIC_POLL_BYTES + 4 * (size_t)count)
        return kino__fail(err, KINO_FORMAT, "invalid poll: %d pids in %zu bytes", count,
                          payload.size);
    for (int32_t i = 0; i < count; i++)
        out->pids[i] = (int32_t)kino__bytes_get(&bytes, 4);
    out->pid_count = (uint32_t)count;
    return KINO_OK;
}

kino_status kino__fabric_read_context(kino_str payload, kino__fabric_context *out, kino_error *err)
{
    kino__bytes bytes = kino__bytes_start(payload);
    out->gpu = (int32_t)kino__bytes_get(&bytes, 4);
    out->pid = (int32_t)kino__bytes_get(&bytes, 4);
    out->job = (int64_t)kino__bytes_get(&bytes, 8);
    if (bytes.failed || payload.size != 16)
        return kino__fail(err, KINO_FORMAT, "invalid context: %zu bytes", payload.size);
    return KINO_OK;
}

kino_status kino__fabric_read_count(kino_str payload, int32_t *out, kino_error *err)
{
    *out = 0;
    if (payload.size != 4)
        return kino__fail(err, KINO_FORMAT, "invalid count: %zu bytes", payload.size);
    *out = (int32_t)kino__get_le(payload.data, 4);
    return KINO_OK;
}

kino_status kino__fabric_read_report(kino_str payload, kino__fabric_report *out, kino_error *err)
{
    kino__bytes bytes = kino__bytes_start(payload);
    out->event = (uint32_t)kino__bytes_get(&bytes, 4);
    uint32_t zero = (uint32_t)kino__bytes_get(&bytes, 4);
    out->request = kino__bytes_get(&bytes, 8);
    out->bytes = (int64_t)kino__bytes_get(&bytes, 8);
    out->text = (kino_str){"", 0};
    if (bytes.failed || !payload.data ||
        payload.size > KINO__FABRIC_REPORT_BYTES + KINO__FABRIC_REPORT_TEXT_MAX)
        return kino__fail(err, KINO_FORMAT, "invalid report: %zu bytes", payload.size);
    if (out->event == 0 || out->event >= KINO__FABRIC_EVENT_END || zero != 0 || out->bytes < -1)
        return kino__fail(err, KINO_FORMAT, "invalid report: event %u", out->event);
    kino_str text = {payload.data + KINO__FABRIC_REPORT_BYTES,
                     payload.size - KINO__FABRIC_REPORT_BYTES};
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return kino__fail(err, KINO_FORMAT, "invalid report: control character");
    out->text = text;
    return KINO_OK;
}

bool kino__fabric_request_of(const char *trace_id, uint64_t *out)
{
    kino_str text = kino__str_from(trace_id), prefix = KINO__STR(KINO__FABRIC_TRACE_ID);
    int64_t number;
    if (!trace_id || !kino__str_starts_with(text, prefix))
        return false;
    text = (kino_str){text.data + prefix.size, text.size - prefix.size};
    text.size = strcspn(text.data, "-");
    if (!kino__str_to_int(text, &number) || number <= 0)
        return false;
    *out = (uint64_t)number;
    return true;
}

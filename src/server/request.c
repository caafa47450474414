/* request.c - answers of all kinds: errors, texts, tags. */
#include "server/request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hint.h"
#include "base/json_out.h"

enum { GZIP_FROM = 1024 };

static const char json_type[] = "application/json";

void kino__answer_deinit(kino__answer *answer)
{
    kino__body_unref(answer->plain);
    kino__body_unref(answer->gzip);
    if (answer->fd >= 0)
        (void)close(answer->fd);
    *answer = (kino__answer){.fd = -1};
}

/* -- errors -- */

static void add_error(kino__buffer *out, unsigned status, const char *message,
                      const kino_hint *hint)
{
    kino__json json = {.out = out};
    kino__json_begin_object(&json);
    kino__json_key(&json, "error");
    kino__json_begin_object(&json);
    kino__json_key(&json, "status");
    kino__json_uint(&json, status);
    kino__json_key(&json, "message");
    kino__json_string(&json, kino__str_from(message));
    if (hint && hint->code != KINO_HINT_NONE) {
        kino__json_key(&json, "hint");
        kino__hint_json(&json, hint, SIZE_MAX);
    }
    kino__json_end_object(&json);
    kino__json_end_object(&json);
    kino__buffer_add(out, KINO__STR("\n"));
}

static void set_error(kino__http_request *request, unsigned status, const char *message,
                      const kino_hint *hint)
{
    if (request->answer.status)
        return;
    kino__buffer text = {0};
    add_error(&text, status, message, hint);
    request->answer.status = status;
    request->answer.type = json_type;
    request->answer.plain = kino__body_take(&text); /* without memory: an empty body */
    request->answer.cache_control = "no-store";
}

void kino__request_fail(kino__http_request *request, unsigned status, const char *format, ...)
{
    char message[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    set_error(request, status, message, NULL);
}

void kino__request_fail_error(kino__http_request *request, unsigned status, const kino_error *err)
{
    set_error(request, status, err->message, &err->hint);
}

static unsigned http_status(kino_status code)
{
    switch (code) {
    case KINO_ARGUMENT:
        return 400;
    case KINO_NOT_FOUND:
        return 404;
    case KINO_NOMEM:
        return 503;
    case KINO_LIMIT:
    case KINO_CANCELLED:
        return 504;
    default:
        return 422;
    }
}

/* With the byte of the input behind it. */
static void fail_at(kino__http_request *request, unsigned status, const kino_error *err)
{
    char message[sizeof err->message + 32];
    if (err->offset == KINO_NO_OFFSET)
        (void)snprintf(message, sizeof message, "%s", err->message);
    else
        (void)snprintf(message, sizeof message, "%s (byte %" PRIu64 ")", err->message, err->offset);
    set_error(request, status, message, &err->hint);
}

void kino__request_fail_status(kino__http_request *request, kino_status code, const kino_error *err)
{
    int stop = __atomic_load_n(&request->stop, __ATOMIC_RELAXED);
    if (stop == KINO__STOP_LATE)
        kino__request_fail(request, 504, "the request took too long");
    else if (stop == KINO__STOP_END)
        kino__request_fail(request, 503, "the server is shutting down");
    else if (request->text.failed)
        kino__request_fail(request, 422, "the answer is larger than %zu MB: reduce it with 'limit'",
                           request->text_limit >> 20);
    else if (err && err->message[0])
        fail_at(request, http_status(code), err);
    else
        kino__request_fail(request, http_status(code), "%s", kino_status_text(code));
}

/* -- for the library's callbacks -- */

bool kino__request_write(void *context, const char *bytes, size_t size)
{
    kino__http_request *request = context;
    if (__atomic_load_n(&request->stop, __ATOMIC_RELAXED) != KINO__STOP_NOT)
        return false;
    if (request->text_limit && request->text.size + size > request->text_limit)
        request->text.failed = true;
    else
        kino__buffer_add(&request->text, (kino_str){bytes, size});
    return !request->text.failed;
}

bool kino__request_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    const kino__http_request *request = context;
    (void)what;
    (void)done;
    (void)total;
    return __atomic_load_n(&request->stop, __ATOMIC_RELAXED) == KINO__STOP_NOT;
}

/* -- good answers -- */

void kino__request_pack(kino__http_request *request)
{
    kino__answer *answer = &request->answer;
    if (request->accepts_gzip && answer->plain->size > GZIP_FROM)
        answer->gzip = kino__body_gzip(answer->plain);
}

void kino__request_finish(kino__http_request *request, const char *type)
{
    kino__answer *answer = &request->answer;
    if (answer->status)
        return;
    if (request->text.failed) {
        kino__request_fail(request, 503, "out of memory");
        return;
    }
    answer->plain = kino__body_take(&request->text);
    if (!answer->plain) {
        kino__request_fail(request, 503, "out of memory");
        return;
    }
    answer->status = 200;
    answer->type = type;
    if (!answer->is_packed)
        kino__request_pack(request);
}

void kino__request_tag_body(kino__http_request *request)
{
    kino__answer *answer = &request->answer;
    if (answer->status != 200 || !answer->plain)
        return;
    (void)snprintf(answer->tag, sizeof answer->tag, "%016" PRIx64,
                   kino__hash_bytes(answer->plain->data, answer->plain->size));
}

/* http_target.c - any bytes as what a client asks for: the route is found, the parameters are taken
 * apart and checked, nothing is loaded. Either all is in order, or there is one answer that says
 * what is wrong. Bytes behind the first line are the body of a POST. */
#include <stdlib.h>
#include <string.h>

#include "server/route.h"
#include "server/server_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

/* A name or a path is a part of the target. */
static void check_part(const kino__http_request *request, kino_str part)
{
    const char *end = request->target + strlen(request->target);
    require(part.size == 0 || (part.data >= request->target && part.data + part.size <= end));
}

static void check_refusal(const kino__answer *answer)
{
    static const char start[] = "{\"error\":{\"status\":";
    require(answer->status >= 400 && answer->status < 500 && answer->plain);
    require(answer->plain->size > sizeof start &&
            memcmp(answer->plain->data, start, sizeof start - 1) == 0);
    require(!memchr(answer->plain->data, 0, answer->plain->size));
}

static void check_order(const kino__http_request *request)
{
    const char *wait = kino__params_text(&request->params, "wait");
    require(request->deadline_ms > request->wait_until_ms);
    require(request->deadline_ms - request->wait_until_ms <= 300 * 1000);
    require(!wait || request->route->flags & KINO__ROUTE_RUN ||
            request->route->answer == kino__route_schema);
}

static void ask(kino__http_request *request)
{
    request->path = (kino_str){request->target, strcspn(request->target, "?")};
    if (!kino__route_find(request))
        return;
    check_part(request, request->name);
    require(request->format[0]);
    kino__route_prepare(request);
    if (request->answer.status)
        check_refusal(&request->answer);
    else
        check_order(request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino__server server = {0};
    kino__http_request request = {.server = &server, .socket = -1, .answer = {.fd = -1}};
    const uint8_t *line_end = size ? memchr(data, '\n', size) : NULL;
    size_t length = line_end ? (size_t)(line_end - data) : size;
    request.target = malloc(length + 1);
    if (!request.target)
        return 0;
    if (length)
        memcpy(request.target, data, length);
    request.target[length] = 0;
    request.is_post = line_end != NULL;
    if (line_end)
        kino__buffer_add(&request.body, (kino_str){(const char *)line_end + 1, size - length - 1});
    ask(&request);
    kino__answer_deinit(&request.answer);
    kino__params_deinit(&request.params);
    kino__buffer_deinit(&request.body);
    kino__buffer_deinit(&request.text);
    free(request.target);
    return 0;
}

/* http.c - between libmicrohttpd and requests. One thread reads and sends for all connections; a
 * request that needs work is suspended, worked on in a lane, and resumed with its answer.
 *
 *   on_target   the first line is there: a request is made
 *   on_request  headers are there (begin), then pieces of a body, then the end (dispatch); and once
 *               more after a lane has answered (send)
 *   on_done     sent, or the client is gone: the request is freed */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/http_access.h"
#include "server/route.h"
#include "server/server_internal.h"

enum {
    MOST_BODY = 1 << 20,
    MOST_DROPPED = 4 << 20,          /* of a body that nobody wants, before the line is cut */
    MEMORY_OF_CONNECTION = 64 << 10, /* the first line and the headers fit, or it is refused */
    IDLE_SECONDS = 60,
    MOST_CONNECTIONS = 1000,
    SPARE_FILES = 100,
};

/* -- sending -- */

static void free_body(void *body)
{
    kino__body_unref(body);
}

/* The response of an answer, with its body; the answer's references are used up. */
static struct MHD_Response *make_response(kino__http_request *request, bool *is_gzip)
{
    kino__answer *answer = &request->answer;
    *is_gzip = answer->gzip && request->accepts_gzip;
    if (answer->fd >= 0) {
        off_t size = lseek(answer->fd, 0, SEEK_END);
        struct MHD_Response *response =
            size < 0 ? NULL : MHD_create_response_from_fd64((uint64_t)size, answer->fd);
        if (response)
            answer->fd = -1; /* closed with the response */
        return response;
    }
    kino__body *body = kino__body_ref(*is_gzip ? answer->gzip : answer->plain);
    if (!body)
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        body->size, body->data, free_body, body);
    if (!response)
        kino__body_unref(body);
    return response;
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    (void)MHD_add_response_header(response, name, value);
}

static void add_headers(struct MHD_Response *response, const kino__http_request *request,
                        bool is_gzip)
{
    const kino__answer *answer = &request->answer;
    char text[160];
    bool is_report = request->route && request->route->answer == kino__route_report &&
                     strcmp(request->format, "html") == 0;
    const kino__server *server = request->server;
    add_header(response, "Content-Security-Policy",
               is_report ? server->report_policy : server->policy);
    add_header(response, "X-Content-Type-Options", "nosniff");
    add_header(response, "Referrer-Policy", "no-referrer");
    add_header(response, "Cross-Origin-Opener-Policy", "same-origin-allow-popups");
    add_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    add_header(response, "Cache-Control",
               answer->cache_control ? answer->cache_control : "no-cache");
    if (answer->type)
        add_header(response, "Content-Type", answer->type);
    if (is_gzip)
        add_header(response, "Content-Encoding", "gzip");
    if (answer->gzip || answer->plain)
        add_header(response, "Vary", "Accept-Encoding");
    if (answer->tag[0] && (answer->status == 200 || answer->status == 304)) {
        (void)snprintf(text, sizeof text, "\"%s%s\"", answer->tag, is_gzip ? "-z" : "");
        add_header(response, "ETag", text);
    }
    if (answer->file_name) {
        (void)snprintf(text, sizeof text, "attachment; filename=\"%s\"", answer->file_name);
        add_header(response, "Content-Disposition", text);
    }
    if (answer->is_truncated)
        add_header(response, "Kino-Truncated", "true");
    if (answer->location)
        add_header(response, "Location", answer->location);
    if (answer->cookie)
        add_header(response, "Set-Cookie", answer->cookie);
    if (answer->status == 401)
        add_header(response, "WWW-Authenticate", "Bearer");
    if (answer->status == 405)
        add_header(response, "Allow",
                   request->route && request->route->flags & KINO__ROUTE_POST ? "GET, HEAD, POST"
                                                                              : "GET, HEAD");
    if (answer->status == 503)
        add_header(response, "Retry-After", "1");
}

static enum MHD_Result send_answer(kino__http_request *request, struct MHD_Connection *connection)
{
    bool is_gzip;
    kino__answer *answer = &request->answer;
    if (answer->status == 200 && answer->tag[0] && request->if_none_match &&
        kino__tag_matches(request->if_none_match, answer->tag)) {
        char tag[sizeof answer->tag];
        memcpy(tag, answer->tag, sizeof tag);
        kino__answer_deinit(answer);
        memcpy(answer->tag, tag, sizeof tag);
        answer->status = 304;
    }
    struct MHD_Response *response = make_response(request, &is_gzip);
    if (!response)
        return MHD_NO;
    add_headers(response, request, is_gzip);
    enum MHD_Result result = MHD_queue_response(connection, answer->status, response);
    MHD_destroy_response(response);
    kino__answer_deinit(answer);
    return result;
}

/* -- receiving -- */

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* "/?token=TOKEN" as the page of the UI asks once: the token goes into a cookie and out of the
 * address. */
static bool is_token_page(const kino__http_request *request)
{
    static const char start[] = "/?token=";
    return strncmp(request->path.data, start, sizeof start - 1) == 0 &&
           kino__token_equal(kino__str_from(request->path.data + sizeof start - 1),
                             request->server->token);
}

/* Is the token in a header or a cookie? */
static bool has_token(const kino__http_request *request, struct MHD_Connection *connection)
{
    const kino__server *server = request->server;
    kino_str bearer = kino__bearer_token(header(connection, "Authorization"));
    kino_str cookie = kino__cookie_value(header(connection, "Cookie"), server->cookie_name);
    return kino__token_equal(bearer, server->token) || kino__token_equal(cookie, server->token);
}

/* Does a page of another site ask? */
static bool is_foreign(const kino__http_request *request, struct MHD_Connection *connection)
{
    const char *site = header(connection, "Sec-Fetch-Site");
    if (!site)
        return kino__origin_is_foreign(header(connection, "Origin"), header(connection, "Host"));
    return kino__fetch_is_foreign(site, header(connection, "Sec-Fetch-Mode"),
                                  kino__str_is(request->path, "/") || request->is_base);
}

/* Does the Host header name this server, or a proxy that may stand before it? */
static bool is_host_known(const kino__server *server, const char *host)
{
    bool is_known = kino__host_is_ours(host, server->host);
    for (size_t i = 0; i < server->options.host_count && !is_known; i++)
        is_known = kino__host_is_ours(host, server->options.hosts[i]);
    return is_known;
}

/* Sends the client elsewhere. */
static void redirect(kino__http_request *request, unsigned status, const char *location)
{
    request->answer.status = status;
    request->answer.location = location;
    request->answer.cache_control = "no-store";
}

static void check_access(kino__http_request *request, struct MHD_Connection *connection)
{
    kino__server *server = request->server;
    if (server->checks_host && !is_host_known(server, header(connection, "Host"))) {
        kino__request_fail(request, 403, "the Host header does not name this server");
    } else if (is_foreign(request, connection)) {
        kino__request_fail(request, 403, "cross-origin requests are not allowed");
    } else if (request->is_base) {
        redirect(request, 308, server->base_page);
    } else if (server->token && is_token_page(request)) {
        redirect(request, 303, "./"); /* a proxy may have another name for it */
        request->answer.cookie = server->cookie;
    } else if (server->token && !has_token(request, connection)) {
        kino__request_fail(request, 401,
                           "missing or invalid token: open the address printed by 'kino serve'");
    }
}

/* How often the headers say what they may say once. */
typedef struct header_counts {
    unsigned host, length, coding;
} header_counts;

static enum MHD_Result count_header(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    header_counts *counts = context;
    (void)kind;
    (void)value;
    counts->host += strcasecmp(name, "Host") == 0;
    counts->length += strcasecmp(name, "Content-Length") == 0;
    counts->coding += strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

/* Could a proxy before us have read the request another way than we do? */
static bool is_ambiguous(struct MHD_Connection *connection)
{
    header_counts counts = {0};
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, count_header, &counts);
    return counts.host > 1 || counts.length + counts.coding > 1;
}

/* Headers are there: may it ask, and is there such a thing? */
static void begin(kino__http_request *request, struct MHD_Connection *connection,
                  const char *method)
{
    const char *tags = header(connection, "If-None-Match");
    const char *length = header(connection, "Content-Length");
    bool is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    request->is_post = strcmp(method, "POST") == 0;
    request->accepts_gzip = kino__accepts_gzip(header(connection, "Accept-Encoding"));
    request->if_none_match = tags && !request->is_post ? strdup(tags) : NULL;
    if (is_ambiguous(connection))
        kino__request_fail(request, 400, "Host and Content-Length must not be repeated");
    else
        check_access(request, connection);
    if (request->answer.status)
        return;
    bool is_route = kino__route_find(request);
    bool takes_post = is_route && request->route->flags & KINO__ROUTE_POST;
    if (!is_get && !(request->is_post && takes_post))
        kino__request_fail(request, 405, "method %.16s is not allowed", method);
    else if (!is_route && !kino__asset_answer(request))
        kino__request_fail(request, 404,
                           request->path.size ? "not found" : "not below the base path");
    else if (length && strtoull(length, NULL, 10) > MOST_BODY)
        kino__request_fail(request, 413, "request body is larger than %d bytes", MOST_BODY);
}

static bool has_body(struct MHD_Connection *connection)
{
    return header(connection, "Content-Length") || header(connection, "Transfer-Encoding");
}

static void add_body(kino__http_request *request, kino_str piece)
{
    if (request->answer.status)
        return; /* an answer is there: the rest is read and dropped */
    if (request->body.size + piece.size > MOST_BODY)
        kino__request_fail(request, 413, "request body is larger than %d bytes", MOST_BODY);
    else
        kino__buffer_add(&request->body, piece);
    if (request->body.failed)
        kino__request_fail(request, 503, "out of memory");
}

/* All of it is there: answer, or give it to a lane. */
static enum MHD_Result dispatch(kino__http_request *request, struct MHD_Connection *connection)
{
    kino__server *server = request->server;
    if (request->answer.status == 0)
        kino__route_prepare(request);
    if (request->answer.status == 0 && request->route->lane == KINO__LANE_AT_ONCE) {
        request->route->answer(request);
        kino__request_tag_body(request);
    }
    if (request->answer.status)
        return send_answer(request, connection);
    /* Suspended before anybody else can see it: the lane may be done in no time. */
    MHD_suspend_connection(connection);
    kino__server_add_working(server, request);
    if (!kino__server_enqueue(server, request)) {
        kino__server_remove_working(server, request);
        kino__request_fail(request, 503, "too many requests at once");
        MHD_resume_connection(connection);
    }
    return MHD_YES;
}

void kino__http_resume(kino__http_request *request)
{
    MHD_resume_connection(request->connection);
}

/* A request goes on for the connection, or it is idle again. */
static void mark_client(struct MHD_Connection *connection, bool is_served)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    kino__http_client *client = info ? info->socket_context : NULL;
    if (client)
        kino__server_mark_client(client, is_served);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **state)
{
    kino__http_request *request = *state;
    (void)context;
    (void)url;
    (void)version;
    if (!request)
        return MHD_NO;
    if (request->answer.status && *upload_size) {
        request->dropped += *upload_size;
        *upload_size = 0;
        return request->dropped > MOST_DROPPED ? MHD_NO : MHD_YES;
    }
    if (request->answer.status)
        return send_answer(request, connection);
    if (!request->connection) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        request->socket = info ? info->connect_fd : -1;
        request->connection = connection;
        info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        request->is_near = info && kino__peer_is_near(info->client_addr);
        begin(request, connection, method);
        /* Whoever will not be heard need not send a body. Without one the connection stays open
         * only when the answer comes at the second call. */
        bool is_final = request->answer.status && (request->is_post || has_body(connection));
        return is_final ? send_answer(request, connection) : MHD_YES;
    }
    if (*upload_size) {
        add_body(request, (kino_str){upload, *upload_size});
        *upload_size = 0;
        return MHD_YES;
    }
    mark_client(connection, true);
    return dispatch(request, connection);
}

/* What is asked for below the base path. */
static void find_path(kino__http_request *request, const char *base)
{
    size_t size = strlen(base), length = strcspn(request->target, "?");
    bool is_below = strncmp(request->target, base, size) == 0;
    request->is_base = is_below && size && length == size;
    if (is_below && request->target[size] == '/')
        request->path = (kino_str){request->target + size, length - size};
    else
        request->path = (kino_str){"", 0};
}

static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
    (void)connection;
    kino__http_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->server = context;
    request->socket = -1;
    request->answer.fd = -1;
    request->target = strdup(target);
    if (!request->target) {
        free(request);
        return NULL;
    }
    find_path(request, request->server->base);
    return request;
}

static void on_done(void *context, struct MHD_Connection *connection, void **state,
                    enum MHD_RequestTerminationCode why)
{
    kino__http_request *request = *state;
    (void)context;
    (void)why;
    mark_client(connection, false);
    *state = NULL;
    if (!request)
        return;
    kino__answer_deinit(&request->answer);
    kino__params_deinit(&request->params);
    kino__buffer_deinit(&request->body);
    kino__buffer_deinit(&request->text);
    free(request->if_none_match);
    free(request->target);
    free(request);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode what)
{
    kino__server *server = context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        kino__server_remove_client(server, *state);
        *state = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *state = kino__server_add_client(server, info ? info->connect_fd : -1);
}

static void on_log(void *context, const char *format, va_list args)
{
    (void)context; /* what goes wrong with a client is the client's affair */
    (void)format;
    (void)args;
}

/* -- starting and ending -- */

/* As many connections as there can be open files, and room for ours. */
static unsigned connection_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return SPARE_FILES;
    const rlim_t spare = SPARE_FILES, wanted = MOST_CONNECTIONS + 2 * spare;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= wanted)
        return MOST_CONNECTIONS;
    return (unsigned)(limit.rlim_cur > 2 * spare ? limit.rlim_cur - spare : spare);
}

kino_status kino__http_start(kino__server *server, kino_error *err)
{
    unsigned most = connection_limit();
    server->crowd = most / 4 * 3;
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        on_request, server, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET,
        server->listener, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
        MHD_OPTION_NOTIFY_COMPLETED, on_done, server, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        server, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_OF_CONNECTION,
        MHD_OPTION_CONNECTION_LIMIT, most, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
        MHD_OPTION_END);
    if (server->daemon) {
        server->listener = -1;
        return KINO_OK;
    }
    return kino__fail(err, KINO_IO, "cannot start the HTTP server");
}

void kino__http_stop(kino__server *server)
{
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    server->daemon = NULL;
    if (server->listener >= 0)
        (void)close(server->listener);
    server->listener = -1;
    kino__http_unlisten(server);
}

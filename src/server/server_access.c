/* server_access.c - what the server is called and who may ask: token, cookie, base path, names of proxies,
 * and the policy that says which pages may show it in a frame. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "base/http_access.h"
#include "base/str.h"
#include "server/server_internal.h"

enum { TOKEN_BYTES = 16, MOST_BASE = 1000, MOST_HOST = 255, MOST_FRAMES = 1000 };

static const char letters_and_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; frame-ancestors %s; base-uri 'none'; "
    "form-action 'none'";
/* The report is one page with its style and its script inside; it can reach nothing else. */
static const char report_policy[] =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors %s; base-uri 'none'; form-action 'none'; sandbox allow-scripts";

/* -- what users give -- */

bool kino__server_token_is_good(const char *token)
{
    return kino__token_is_good(token);
}

static bool has_only(kino_str text, const char *others)
{
    for (size_t i = 0; i < text.size; i++)
        if (!text.data[i] ||
            (!strchr(letters_and_digits, text.data[i]) && !strchr(others, text.data[i])))
            return false;
    return true;
}

bool kino__server_base_path_is_good(const char *path)
{
    if (path[0] != '/' || strlen(path) > MOST_BASE)
        return false;
    for (const char *at = path; *at == '/' && at[1];) {
        kino_str segment = {at + 1, strcspn(at + 1, "/")};
        bool is_dots = kino__str_is(segment, ".") || kino__str_is(segment, "..");
        if (segment.size == 0 || is_dots || !has_only(segment, "-._~@%+:"))
            return false;
        at = segment.data + segment.size;
    }
    return true;
}

bool kino__server_host_is_good(const char *name)
{
    kino_str text = kino__str_from(name);
    return kino__str_is(text, "*") ||
           (text.size > 0 && text.size <= MOST_HOST && has_only(text, "-._:"));
}

bool kino__server_frames_are_good(const char *sources)
{
    kino_str text = kino__str_from(sources);
    return text.size > 0 && text.size <= MOST_FRAMES && has_only(text, " '*:/.-_[]");
}

/* -- what it is called -- */

/* A formatted text of its own; NULL: out of memory. */
KINO_PRINTF(1, 2) static char *make_text(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int size = vasprintf(&text, format, args);
    va_end(args);
    return size < 0 ? NULL : text;
}

static bool takes_any_host(const kino__server *server)
{
    bool takes_any = kino__address_is_any(server->host);
    for (size_t i = 0; i < server->options.host_count && !takes_any; i++)
        takes_any = strcmp(server->options.hosts[i], "*") == 0;
    return takes_any;
}

static kino_status make_token(kino__server *server, kino_error *err)
{
    unsigned char bytes[TOKEN_BYTES];
    const char *given = server->options.token;
    bool is_private = kino__address_is_loopback(server->host) && !takes_any_host(server);
    if (!given && (server->options.socket || is_private))
        return KINO_OK;
    server->token = given ? strdup(given) : calloc(1, 2 * TOKEN_BYTES + 1);
    if (!server->token)
        return kino__fail_nomem(err);
    if (given)
        return KINO_OK;
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return kino__fail(err, KINO_IO, "cannot generate a token: no random numbers available");
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(server->token + 2 * i, 3, "%02x", bytes[i]);
    return KINO_OK;
}

kino_status kino__access_init(kino__server *server, kino_error *err)
{
    const kino__server_options *options = &server->options;
    const char *frames = options->frame_ancestors ? options->frame_ancestors : "'none'";
    const char *base = options->base_path ? options->base_path : "";
    size_t size = strlen(base);
    bool has_slash = size > 0 && base[size - 1] == '/';
    server->host = strdup(options->host);
    server->base = strndup(base, size - has_slash);
    server->base_page = make_text("%s%s", base, has_slash ? "" : "/");
    server->policy = make_text(policy, frames);
    server->report_policy = make_text(report_policy, frames);
    if (!server->host || !server->base || !server->base_page || !server->policy ||
        !server->report_policy)
        return kino__fail_nomem(err);
    server->checks_host = !options->socket && !takes_any_host(server);
    return make_token(server, err);
}

/* The address people open; of all addresses of the machine, the one it is reached by locally. */
static char *make_address(const kino__server *server)
{
    char machine[256] = "";
    const char *name = server->host;
    if (kino__address_is_any(name) && gethostname(machine, sizeof machine - 1) == 0 && machine[0])
        name = machine;
    bool is_v6 = strchr(name, ':') != NULL;
    return make_text("http://%s%s%s:%u%s%s%s", is_v6 ? "[" : "", name, is_v6 ? "]" : "",
                     server->port, server->base_page, server->token ? "?token=" : "",
                     server->token ? server->token : "");
}

kino_status kino__access_make_url(kino__server *server, kino_error *err)
{
    const char *socket = server->options.socket;
    server->url = socket ? make_text("unix:%s", socket) : make_address(server);
    (void)snprintf(server->cookie_name, sizeof server->cookie_name, "kino_%u", server->port);
    /* Without a path it is for the folder of the page that set it, as the browser sees it. */
    server->cookie = make_text("%s=%s; HttpOnly; SameSite=Strict", server->cookie_name,
                               server->token ? server->token : "");
    return server->url && server->cookie ? KINO_OK : kino__fail_nomem(err);
}

void kino__access_deinit(kino__server *server)
{
    free(server->host);
    free(server->base);
    free(server->base_page);
    free(server->policy);
    free(server->report_policy);
    free(server->token);
    free(server->cookie);
    free(server->url);
}

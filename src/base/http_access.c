/* http_access.c - hosts, where a page comes from, tokens, and the two headers about content. */
#include "base/http_access.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <strings.h>

#include "base/str.h"

/* -- hosts -- */

/* "name:port" or "[v6]:port" without the port and the brackets; empty when it is neither. */
static kino_str host_name(const char *header)
{
    static const kino_str none = {"", 0};
    kino_str name = kino__str_from(header);
    const char *rest;
    if (name.size && name.data[0] == '[') {
        const char *close = memchr(name.data, ']', name.size);
        if (!close)
            return none;
        rest = close + 1;
        name = (kino_str){name.data + 1, (size_t)(close - name.data) - 1};
    } else {
        name.size = strcspn(header, ":");
        rest = header + name.size;
    }
    if (*rest == 0)
        return name;
    size_t digits = strspn(rest + 1, "0123456789");
    return *rest == ':' && digits && digits <= 5 && rest[1 + digits] == 0 ? name : none;
}

static bool is_same_name(kino_str name, const char *other)
{
    return name.size == strlen(other) && strncasecmp(name.data, other, name.size) == 0;
}

static bool is_loopback_v4(const char *text)
{
    struct in_addr v4;
    return inet_pton(AF_INET, text, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

bool kino__address_is_loopback(const char *address)
{
    struct in6_addr v6;
    if (strcasecmp(address, "localhost") == 0 || is_loopback_v4(address))
        return true;
    return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool kino__peer_is_near(const struct sockaddr *peer)
{
    if (peer->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)peer)->sin_addr.s_addr) >> 24 ==
               127;
    if (peer->sa_family != AF_INET6)
        return false;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

bool kino__address_is_any(const char *address)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, address, &v4) == 1)
        return v4.s_addr == INADDR_ANY;
    return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}

bool kino__host_is_ours(const char *header, const char *bound)
{
    char text[64];
    kino_str name = header ? host_name(header) : (kino_str){"", 0};
    if (name.size == 0)
        return false;
    if (is_same_name(name, bound))
        return true;
    if (name.size >= sizeof text)
        return false;
    memcpy(text, name.data, name.size);
    text[name.size] = 0;
    return kino__address_is_loopback(text);
}

bool kino__host_is_number(const char *header)
{
    char text[64];
    struct in_addr v4;
    struct in6_addr v6;
    kino_str name = host_name(header);
    if (name.size == 0 || name.size >= sizeof text)
        return false;
    memcpy(text, name.data, name.size);
    text[name.size] = 0;
    return inet_pton(AF_INET, text, &v4) == 1 || inet_pton(AF_INET6, text, &v6) == 1;
}

bool kino__fetch_is_foreign(const char *site, const char *mode, bool is_page)
{
    if (!site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0)
        return false;
    return !(is_page && mode && strcmp(mode, "navigate") == 0);
}

bool kino__origin_is_foreign(const char *origin, const char *host)
{
    const char *name = origin ? strstr(origin, "://") : NULL;
    if (!origin)
        return false;
    return !name || !host || strcasecmp(name + 3, host) != 0;
}

/* -- tokens -- */

bool kino__token_is_good(const char *token)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t size = strlen(token);
    return size >= 8 && size <= 128 && strspn(token, letters) == size;
}

bool kino__token_equal(kino_str given, const char *token)
{
    size_t size = strlen(token);
    unsigned char difference = given.size != size;
    for (size_t i = 0; i < size; i++)
        difference |= (unsigned char)(token[i] ^ (i < given.size ? given.data[i] : 0));
    return difference == 0;
}

kino_str kino__bearer_token(const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
        return (kino_str){"", 0};
    return kino__str_from(authorization + sizeof scheme - 1);
}

kino_str kino__cookie_value(const char *header, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = header; at && *at; at += strspn(at, "; ")) {
        size_t length = strcspn(at, ";");
        if (length > size && strncmp(at, name, size) == 0 && at[size] == '=')
            return (kino_str){at + size + 1, length - size - 1};
        at += length;
    }
    return (kino_str){"", 0};
}

/* -- content -- */

bool kino__accepts_gzip(const char *header)
{
    for (const char *at = header; at && *at; at += strspn(at, ", \t")) {
        size_t length = strcspn(at, ","), word = strcspn(at, ",; \t");
        if ((word == 4 && strncasecmp(at, "gzip", 4) == 0) || (word == 1 && *at == '*')) {
            const char *q = memmem(at, length, "q=", 2);
            return !q || strtod(q + 2, NULL) > 0;
        }
        at += length;
    }
    return false;
}

bool kino__tag_matches(const char *header, const char *tag)
{
    size_t size = strlen(tag);
    for (const char *at = header; at && *at; at += strspn(at, ", \t")) {
        size_t length = strcspn(at, ",");
        const char *text = at;
        if (*text == '*')
            return true;
        if (strncmp(text, "W/", 2) == 0)
            text += 2;
        if (*text == '"' && strncmp(text + 1, tag, size) == 0 &&
            (text[1 + size] == '"' || strncmp(text + 1 + size, "-z\"", 3) == 0))
            return true;
        at += length;
    }
    return false;
}

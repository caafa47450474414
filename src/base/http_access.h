/* http_access.h - over HTTP: who may ask, and what headers mean: pure functions over
 * their texts. */
#ifndef KINO__BASE_HTTP_ACCESS_H
#define KINO__BASE_HTTP_ACCESS_H

#include <kino/base.h>

/* Does a Host header name this server? `bound` is the address it listens on, as it was given. Names
 * that no attacker can point here are good with any port (a tunnel may change it): localhost,
 * 127.0.0.0/8, [::1], and `bound`. A NULL header is not good. */
bool kino__host_is_ours(const char *header, const char *bound);

/* Is it an address in numbers? No name of somebody else's can lead here by it. */
bool kino__host_is_number(const char *header);

/* Is this address one of the machine itself alone? */
bool kino__address_is_loopback(const char *address);
/* Is this the address of a client on the same machine? */
struct sockaddr;
bool kino__peer_is_near(const struct sockaddr *peer);
/* Does it stand for all addresses of the machine? */
bool kino__address_is_any(const char *address);

/* Did a page from elsewhere ask (Sec-Fetch-Site, Sec-Fetch-Mode; NULL: not sent)? Following a link
 * to a page of ours is fine. */
bool kino__fetch_is_foreign(const char *site, const char *mode, bool is_page);
/* The same by the Origin header, for browsers that say nothing else: it must be the address that is
 * asked (`host`: the Host header). NULL: no page asks. */
bool kino__origin_is_foreign(const char *origin, const char *host);

/* Letters, digits and -._~, 8 to 128 of them: fits into an address and a cookie as it is. */
bool kino__token_is_good(const char *token);
/* In a time that does not depend on where they differ. */
bool kino__token_equal(kino_str given, const char *token);
/* The token of "Authorization: Bearer TOKEN"; empty when there is none. */
kino_str kino__bearer_token(const char *authorization);
/* The value of a cookie in a Cookie header; empty when there is none. */
kino_str kino__cookie_value(const char *header, const char *name);

/* Does Accept-Encoding take gzip? */
bool kino__accepts_gzip(const char *header);
/* Does If-None-Match name this tag (without quotes; the header's may be weak, or end in "-z")? */
bool kino__tag_matches(const char *header, const char *tag);

#endif

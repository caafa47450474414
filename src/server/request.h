/* request.h - one request from its arrival to its answer, as routes see it. No HTTP library here.
 *
 * A request belongs to one thread at a time: to the MHD thread while it is received and sent, to
 * the minder while it waits for a load, to a lane's thread while it is worked on. Only `stop` is
 * set from outside meanwhile. */
#ifndef KINO__SERVER_REQUEST_H
#define KINO__SERVER_REQUEST_H

#include <kino/engine.h>

#include "server/body.h"
#include "server/run_catalog.h"
#include "server/url_params.h"

typedef struct kino__http_request kino__http_request;
typedef struct kino__route kino__route;

typedef enum kino__stop {
    KINO__STOP_NOT,
    KINO__STOP_GONE,
    KINO__STOP_LATE,
    KINO__STOP_END
} kino__stop;

typedef struct kino__answer {
    unsigned status;   /* 0: none yet */
    const char *type;  /* Content-Type */
    kino__body *plain; /* NULL: no body, or fd */
    kino__body *gzip;  /* the same, when the client takes it; or NULL */
    int fd;            /* a file to be sent instead, or -1 */
    bool is_packed;    /* plain or fd is gzip as it is */
    char tag[24];      /* ETag without quotes; "": none */
    const char *cache_control;
    const char *file_name; /* to be saved as; or NULL */
    const char *location;  /* of a redirect; or NULL */
    const char *cookie;    /* or NULL; borrowed from the server */
    bool is_truncated;
} kino__answer;

struct kino__http_request {
    struct kino__server *server;
    const kino__route *route;
    char *target;       /* path and query as they came; owned */
    kino_str path;      /* of target, below the base path, without the query; "": outside */
    kino_str name;      /* of an analysis: the last part of the path without its suffix */
    const char *format; /* "json", "csv", "md", "html" */
    kino__params params;
    kino__buffer body; /* of a POST */
    uint64_t dropped;  /* bytes of a body that came too late */
    bool is_base;      /* the base path itself is asked for, without its last slash */
    bool is_post, accepts_gzip;
    bool is_near;        /* the client is on this machine */
    char *if_none_match; /* or NULL; owned */
    int socket;
    /* when it must be done, and until when it may wait for a load; ms of the monotonic clock */
    int64_t deadline_ms, wait_until_ms;
    uint64_t changes;   /* of the catalogue when it began to wait */
    uint64_t exclusive; /* of those with the same number one is worked on at a time; 0: none */
    int stop;           /* kino__stop, atomic */
    bool cancel;        /* the same for those who poll a flag, atomic */
    bool is_parked;     /* by its route: to be worked on again when a load is done */
    /* what it works on */
    kino__loaded *loaded, *other;
    kino_run *selection; /* some traces of loaded, or NULL */
    kino__buffer text;   /* the answer while it is written */
    size_t text_limit;
    kino__answer answer;
    /* lists */
    kino__http_request *next;           /* in a lane or among the parked */
    kino__http_request *before, *after; /* of all that are not with the MHD thread */
    void *connection;
};

/* Sets the answer to an error with a message; a later one does not replace it. */
void kino__request_fail(kino__http_request *request, unsigned status, const char *format, ...)
    KINO_PRINTF(3, 4);
/* The same from what a function of the library said, with its hint. */
void kino__request_fail_error(kino__http_request *request, unsigned status, const kino_error *err);
/* The same; the status from its code. */
void kino__request_fail_status(kino__http_request *request, kino_status code,
                               const kino_error *err);

/* A kino_write_fn into request->text. */
bool kino__request_write(void *request, const char *bytes, size_t size);
/* A kino_progress_fn that stops when the client is gone or time is over. */
bool kino__request_progress(void *request, const char *what, uint64_t done, uint64_t total);

/* request->text becomes the body of a 200; gzipped where that is worth it. */
void kino__request_finish(kino__http_request *request, const char *type);
/* The body in gzip as well, where the client takes it and it is worth it. */
void kino__request_pack(kino__http_request *request);
/* The tag of a body that depends on nothing that is known before. */
void kino__request_tag_body(kino__http_request *request);

/* The run to work on: the chosen traces, or all. */
static inline kino_run *kino__request_run(const kino__http_request *request)
{
    return request->selection ? request->selection : request->loaded->run;
}

void kino__answer_deinit(kino__answer *answer);

#endif

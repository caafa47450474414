/* fabric.h - the datagrams between a traced process and the daemon, as Kineto and Dynolog use them.
 *
 *   | payload bytes (8) | type, NUL padded (32) | payload ... |      one datagram, little-endian
 *
 *   "req"  process -> daemon: mask (4) number of pids (4) job (8) pids (4 each), own first
 *          daemon -> process: configuration text; empty: nothing to do
 *   "ctxt" process -> daemon: gpu (4) pid (4) job (8)
 *          daemon -> process: number of processes registered (4), or -1
 *   "kino" process -> daemon: what became of a request; there is no answer. Only libkino sends it,
 *          and only about requests whose REQUEST_TRACE_ID is "kino-NUMBER...": of Kino's daemon.
 *          event (4) 0 (4) request (8) bytes of the file (8) text: the path, or the reason
 *
 * Addresses are names in the abstract namespace, with a NUL at the end that is part of the name, or
 * sockets in a folder that both sides call by the same path. Everything in a datagram is only what
 * the sender says; reading checks each length and never runs over the end. */
#ifndef KINO__WIRE_FABRIC_H
#define KINO__WIRE_FABRIC_H

#include <sys/socket.h>
#include <sys/un.h>

#include "base/str.h"

#define KINO__FABRIC_DAEMON "dynolog"
#define KINO__FABRIC_CLIENT "dynoconfigclient" /* and a UUID */

enum {
    KINO__FABRIC_TYPE_BYTES = 32,
    KINO__FABRIC_HEADER_BYTES = 40,
    KINO__FABRIC_PIDS_SENT = 11,   /* what Kineto sends at most */
    KINO__FABRIC_PIDS_MAX = 1024,  /* what is accepted */
    KINO__FABRIC_TEXT_MAX = 65536, /* of a configuration */
    KINO__FABRIC_DATAGRAM_MAX = KINO__FABRIC_HEADER_BYTES + KINO__FABRIC_TEXT_MAX,
    KINO__FABRIC_POLL_BYTES = 16,   /* without pids */
    KINO__FABRIC_REPORT_BYTES = 24, /* without text */
    KINO__FABRIC_REPORT_TEXT_MAX = 4096,
};

/* Names a request of Kino's daemon: its number follows, and perhaps more behind another dash. */
#define KINO__FABRIC_TRACE_ID "kino-"

/* What a process would take: the mask of a "req". */
typedef enum kino__fabric_mask {
    KINO__FABRIC_NOTHING = 0, /* it is busy; the poll only says that it lives */
    KINO__FABRIC_EVENTS = 1,  /* older versions */
    KINO__FABRIC_ACTIVITIES = 2,
} kino__fabric_mask;

typedef enum kino__fabric_kind {
    KINO__FABRIC_REQ,
    KINO__FABRIC_CTXT,
    KINO__FABRIC_REPORT,
    KINO__FABRIC_OTHER,
} kino__fabric_kind;

typedef struct kino__fabric_message {
    kino__fabric_kind kind;
    kino_str payload; /* in the datagram */
} kino__fabric_message;

typedef struct kino__fabric_poll {
    int32_t mask;
    int64_t job; /* SLURM_JOB_ID, or 0 */
    uint32_t pid_count;
    int32_t pids[KINO__FABRIC_PIDS_MAX]; /* own, parent, ... */
} kino__fabric_poll;

typedef struct kino__fabric_context {
    int32_t gpu, pid;
    int64_t job;
} kino__fabric_context;

/* What a process says about a request. */
typedef enum kino__fabric_event {
    KINO__FABRIC_ACCEPTED = 1, /* it waits for its time */
    KINO__FABRIC_REFUSED,      /* text: why */
    KINO__FABRIC_WARMING_UP,
    KINO__FABRIC_RECORDING,
    KINO__FABRIC_WRITTEN, /* text: the path */
    KINO__FABRIC_FAILED,  /* text: why */
    KINO__FABRIC_CANCELLED,
    KINO__FABRIC_EVENT_END,
} kino__fabric_event;

typedef struct kino__fabric_report {
    uint32_t event;
    uint64_t request;
    int64_t bytes; /* of the file; -1: not known */
    kino_str text; /* in the datagram */
} kino__fabric_report;

typedef struct kino__fabric_address {
    struct sockaddr_un name;
    socklen_t size;
} kino__fabric_address;

/* The address of `name`: abstract when folder is NULL or "". KINO_ARGUMENT when it is too long. */
KINO_NODISCARD kino_status kino__fabric_address_make(const char *folder, const char *name,
                                                     kino__fabric_address *out, kino_error *err);
bool kino__fabric_address_equal(const kino__fabric_address *a, const kino__fabric_address *b);

/* The header of a payload that is sent behind it. */
void kino__fabric_header(const char *type, uint64_t payload_bytes,
                         unsigned char out[KINO__FABRIC_HEADER_BYTES]);
/* A whole datagram. Returns its size; 0 when it does not fit, or has no pid or too many. */
size_t kino__fabric_put_poll(const kino__fabric_poll *poll, void *out, size_t size);
size_t kino__fabric_put_context(const kino__fabric_context *context, void *out, size_t size);
size_t kino__fabric_put_text(kino_str text, void *out, size_t size);
size_t kino__fabric_put_count(int32_t count, void *out, size_t size);
/* A text that is too long is cut. */
size_t kino__fabric_put_report(const kino__fabric_report *report, void *out, size_t size);

/* KINO_FORMAT when the bytes are no datagram of ours: shorter than a header, or of another size
 * than the header says. Types are told apart as Dynolog does: by their first letters. */
KINO_NODISCARD kino_status kino__fabric_read(kino_str datagram, kino__fabric_message *out,
                                             kino_error *err);
KINO_NODISCARD kino_status kino__fabric_read_poll(kino_str payload, kino__fabric_poll *out,
                                                  kino_error *err);
KINO_NODISCARD kino_status kino__fabric_read_context(kino_str payload, kino__fabric_context *out,
                                                     kino_error *err);
KINO_NODISCARD kino_status kino__fabric_read_count(kino_str payload, int32_t *out, kino_error *err);
/* The text has no control characters. */
KINO_NODISCARD kino_status kino__fabric_read_report(kino_str payload, kino__fabric_report *out,
                                                    kino_error *err);
/* The number of a request of Kino's daemon in a REQUEST_TRACE_ID; false: it is somebody else's. */
bool kino__fabric_request_of(const char *trace_id, uint64_t *out);

#endif

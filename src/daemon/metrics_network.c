/* metrics_network.c - /proc/net/dev: bytes, packets, errors and drops of each interface.
 *
 * Interfaces that never carried anything are left out. Some drivers count in 32 bits only. An
 * interface that goes and comes back begins anew. */
#include "base/str.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_text.h"

/* Received values first, then sent ones, both in the order of KINO__NET_*. */
enum { SENT = KINO__NET_VALUES, COUNT = 2 * KINO__NET_VALUES };

#define NET(key, name, help, has_history)                                                          \
    {                                                                                              \
        key, "network_" name "_total", NULL, help, KINO__COUNTER_WRAP32, 0, has_history            \
    }

static const kino__metric metrics_of[COUNT] = {
    [KINO__NET_BYTES] = NET("received_bytes", "receive_bytes", "Bytes received.", true),
    [KINO__NET_PACKETS] = NET("received_packets", "receive_packets", "Packets received.", false),
    [KINO__NET_ERRORS] = NET("receive_errors", "receive_errors", "Receive errors.", false),
    [KINO__NET_DROPS] = NET("receive_drops", "receive_drops", "Received packets dropped.", false),
    [SENT + KINO__NET_BYTES] = NET("sent_bytes", "transmit_bytes", "Bytes sent.", true),
    [SENT + KINO__NET_PACKETS] = NET("sent_packets", "transmit_packets", "Packets sent.", false),
    [SENT + KINO__NET_ERRORS] = NET("send_errors", "transmit_errors", "Transmit errors.", false),
    [SENT + KINO__NET_DROPS] =
        NET("send_drops", "transmit_drops", "Outgoing packets dropped.", false),
};
static const kino__metric_class network = {"network", metrics_of, COUNT, 256};
static const kino__metric_class *const classes[] = {&network, NULL};

static void sample_line(kino__metrics *metrics, const kino__net_line *line)
{
    if (line->received[KINO__NET_PACKETS] == 0 && line->sent[KINO__NET_PACKETS] == 0)
        return;
    kino__thing *thing = kino__metrics_thing(metrics, &network, line->name);
    if (!thing)
        return;
    if (thing->is_new)
        kino__thing_label(thing, "device", line->name);
    for (unsigned i = 0; i < KINO__NET_VALUES; i++) {
        kino__thing_count(thing, i, line->received[i]);
        kino__thing_count(thing, SENT + i, line->sent[i]);
    }
}

static void sample_network(void *state, kino__metrics *metrics)
{
    kino_str text, line;
    kino__net_line values;
    if (!kino__collector_read_file(state, metrics, &text))
        return;
    while (kino__text_line(&text, &line))
        if (kino__parse_net(line, &values))
            sample_line(metrics, &values);
}

const kino__collector kino__collector_network = {
    .name = "network",
    .help = "bytes, packets, errors and drops of interfaces (/proc/net/dev)",
    .classes = classes,
    .file = "net/dev",
    .state_size = sizeof(kino__proc_file),
    .open = kino__collector_open_file,
    .sample = sample_network,
    .close = kino__collector_close_file,
};

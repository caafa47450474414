/* service.h - telling the service manager (systemd) how we are; nothing happens where there is
 * none. */
#ifndef KINO__DAEMON_SERVICE_H
#define KINO__DAEMON_SERVICE_H

#include <kino/base.h>

/* Lines such as "READY=1\nSTATUS=...". */
void kino__service_notify(const char *lines);

/* How often it wants to hear "WATCHDOG=1", in ns; 0: never. */
int64_t kino__service_watchdog_ns(void);

#endif

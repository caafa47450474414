/* access.h - who may do what: whose a connection is, whose processes one may trace, and looking at
 * files with another user's eyes.
 *
 * The rule: root may trace every process, everybody else his own. A process with more rights than
 * its user (set-user-id) is root's alone. Whoever cannot be known may nothing. */
#ifndef KINO__DAEMON_ACCESS_H
#define KINO__DAEMON_ACCESS_H

#include <sys/socket.h>
#include <sys/types.h>

#include "daemon/process.h"

/* Not known. */
#define KINO__NOBODY ((uid_t)-1)

/* The user at the other end of a connection through a unix socket. */
uid_t kino__access_unix_peer(int fd);

/* The same for a connection over the loopback interface: the kernel is asked who has the other
 * socket. It must be open and connected still. */
uid_t kino__access_tcp_peer(int fd);

/* May this user trace the process? Asks the kernel again: rights change. Refused: err says why. */
KINO_NODISCARD kino_status kino__access_check(uid_t caller, const kino__process_identity *process,
                                              kino_error *err);

/* bind; a socket in a folder may then be used by everybody (mode 0666). The mode is given before it
 * has a name: changing it by its name could change what has taken the name since. */
int kino__access_bind(int fd, const struct sockaddr *address, socklen_t size);

/* From here to kino__access_self, files are looked at as this user (when we are root; else nothing
 * changes). false: his rights cannot be taken, and nothing may be looked at. */
KINO_NODISCARD bool kino__access_as(uid_t uid, gid_t gid);
/* After it, where that was not enough: with the further groups of this process, too. false: it has
 * none, or they cannot be taken. */
bool kino__access_with_groups(int32_t pid);
void kino__access_self(void);

/* Gives up for good what the daemon does not need: other groups, capabilities, new rights by exec.
 * After everything is open. */
KINO_NODISCARD kino_status kino__access_drop(kino_error *err);

#endif

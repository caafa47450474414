/* daemon_datagram.c - any bytes from any address as datagrams for the daemon: it never answers what
 * has no name of the right kind, never hands out a text that nobody asked for, and its records stay
 * in order. The input is a row of datagrams: kind of sender, size (2), bytes. */
#include <stdlib.h>
#include <unistd.h>

#include "daemon/fabric_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static kino__fabric_address sender(unsigned kind)
{
    static const char *const folders[] = {NULL, "/run/x", "/run/other", "/run/x/below"};
    kino__fabric_address address = {0};
    if (kind % 6 == 4)
        return address; /* unbound */
    if (kind % 6 == 5) {
        address.name.sun_family = AF_UNIX;
        address.size = (socklen_t)(kind % sizeof address.name);
        return address;
    }
    require(kino__fabric_address_make(folders[kind % 6],
                                      kind & 8 ? "dynoconfigclient00000000-0000-8000-8000-0" : "x",
                                      &address, NULL) == KINO_OK);
    return address;
}

static void run(kino__fabric_server *server, const uint8_t *data, size_t size)
{
    while (size >= 3) {
        unsigned kind = data[0];
        size_t length = data[1] | (size_t)data[2] << 8;
        data += 3;
        size -= 3;
        if (length > size)
            length = size;
        kino__fabric_datagram datagram = {.bytes = {(const char *)data, length},
                                          .from = sender(kind & 15),
                                          .pid = kind & 16   ? getpid()
                                                 : kind & 32 ? 0
                                                             : -1};
        kino__fabric_socket *socket = &server->sockets[kind >> 7];
        kino__fabric_answer answer = kino__fabric_judge(socket, &datagram);
        bool is_fit = kind >> 7 ? (kind & 15) % 6 == 1 : (kind & 15) % 6 == 0;
        require(is_fit || answer.verdict == KINO__FABRIC_IGNORE || (kind & 15) % 6 == 5);
        require(answer.verdict != KINO__FABRIC_ANSWER_TEXT && answer.text.size == 0);
        if (answer.verdict != KINO__FABRIC_IGNORE)
            kino__fabric_settle(socket, &datagram, &answer, true);
        data += length;
        size -= length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino__loop *loop;
    kino_error err;
    kino__log log = {.fd = -1, .level = KINO__LOG_ERROR};
    kino__registry registry;
    kino__requests requests;
    kino__fabric_server server;
    const kino__fabric_server_options closed = {false, NULL};
    if (kino__loop_new(&loop, &err) != KINO_OK)
        return 0;
    kino__registry_init(&registry, loop, &log);
    if (kino__requests_init(&requests, loop, &log, NULL, &err) == KINO_OK) {
        if (kino__fabric_server_open(&server, &closed, loop, &log, &registry, &requests, &err) ==
            KINO_OK) {
            server.sockets[0].server = server.sockets[1].server = &server;
            memcpy(server.sockets[1].folder, "/run/x/", 8);
            run(&server, data, size);
            require(registry.count <= 1 && requests.newest == NULL);
            kino__fabric_server_close(&server);
        }
        kino__requests_deinit(&requests);
    }
    kino__registry_deinit(&registry);
    kino__loop_free(loop);
    return 0;
}

/* test_tracer_held.c - descriptors that are kept in other people's processes. */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tracer/control/fabric_client.h"
#include "tracer/control/held.h"
#include "unit/test.h"

/* The number means a pipe of the program's now, as after "close all, open my own". */
static void take_number(int number, int ends[2])
{
    REQUIRE_EQ(pipe(ends), 0);
    REQUIRE_EQ(dup2(ends[1], number), number);
}

TEST(held_descriptors_are_known_from_others_with_their_number)
{
    kino__held held = KINO__HELD_NONE;
    int ends[2];
    CHECK_EQ(kino__held_fd(&held), -1);
    kino__held_take(&held, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    REQUIRE(held.fd > 100); /* programs get low ones */
    CHECK_EQ(kino__held_fd(&held), held.fd);
    int number = held.fd;
    CHECK_EQ(fcntl(number, F_GETFD), FD_CLOEXEC);
    take_number(number, ends);
    CHECK_EQ(kino__held_fd(&held), -1);
    kino__held_close(&held);
    CHECK(fcntl(number, F_GETFD) >= 0); /* the program's: it stays */
    CHECK_EQ(held.fd, -1);
    close(number);
    kino__held_take(&held, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    number = held.fd;
    kino__held_close(&held);
    CHECK_EQ(fcntl(number, F_GETFD), -1);
}

TEST(fabric_client_whose_socket_was_closed_opens_it_again)
{
    char daemon[40], text[16];
    int ends[2];
    kino_error err;
    kino__fabric_client client;
    (void)snprintf(daemon, sizeof daemon, "kino-held-%d", (int)getpid());
    kino__fabric_options options = {NULL, daemon, NULL, -1};
    REQUIRE_EQ(kino__fabric_open(&options, &client, &err), KINO_OK);
    kino__fabric_address address;
    REQUIRE_EQ(kino__fabric_address_make(NULL, daemon, &address, &err), KINO_OK);
    int peer = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    REQUIRE_EQ(bind(peer, (const struct sockaddr *)&address.name, address.size), 0);
    int number = client.socket.fd;
    take_number(number, ends);
    CHECK_EQ(kino__fabric_send(&client, true, &err), KINO_OK);
    CHECK(recv(peer, text, sizeof text, MSG_DONTWAIT) > 0); /* the daemon has it, */
    REQUIRE_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    CHECK_EQ(read(ends[0], text, sizeof text), -1); /* the program's pipe has not */
    kino__fabric_close(&client);
    CHECK(fcntl(number, F_GETFD) >= 0);
    close(number);
    close(peer);
}

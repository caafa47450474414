/* test_tracer_fabric.c - the process's end of the daemon's fabric, against a daemon that is a
 * socket in the test. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "tracer/control/fabric_client.h"
#include "unit/test.h"

static kino_error err;
static char buffer[KINO__FABRIC_DATAGRAM_MAX];

/* A socket with the daemon's name (NULL: without one). */
static int open_peer(const char *folder, const char *name)
{
    kino__fabric_address address;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(fd >= 0);
    if (!name)
        return fd;
    REQUIRE_EQ(kino__fabric_address_make(folder, name, &address, &err), KINO_OK);
    REQUIRE_EQ(bind(fd, (struct sockaddr *)&address.name, address.size), 0);
    return fd;
}

static void send_raw(int fd, const kino__fabric_client *client, const void *bytes, size_t size)
{
    REQUIRE_EQ(
        sendto(fd, bytes, size, 0, (const struct sockaddr *)&client->own.name, client->own.size),
        (ssize_t)size);
}

static void send_text(int fd, const kino__fabric_client *client, const char *text)
{
    char datagram[1000];
    size_t size = kino__fabric_put_text(kino__str_from(text), datagram, sizeof datagram);
    send_raw(fd, client, datagram, size);
}

/* Its name is the test's own, so that tests and real daemons do not meet. */
static const char *daemon_name(void)
{
    static char name[40];
    (void)snprintf(name, sizeof name, "kino-test-%d", (int)getpid());
    return name;
}

static kino__fabric_client open_client(const char *folder)
{
    kino__fabric_client client;
    kino__fabric_options options = {folder, daemon_name(), "4242_7", -1};
    REQUIRE_EQ(kino__fabric_open(&options, &client, &err), KINO_OK);
    return client;
}

static kino_status receive(kino__fabric_client *client, kino_str *text)
{
    return kino__fabric_receive(client, buffer, sizeof buffer, text, &err);
}

static void talk(const char *folder)
{
    int peer = open_peer(folder, daemon_name());
    kino__fabric_client client = open_client(folder);
    kino__fabric_message message;
    kino__fabric_poll poll;
    kino__fabric_address from = {0};
    kino_str text;
    char datagram[200];
    CHECK_EQ(receive(&client, &text), KINO_NOT_FOUND);
    for (int accepts = 1; accepts >= 0; accepts--) {
        REQUIRE_EQ(kino__fabric_send(&client, accepts, &err), KINO_OK);
        socklen_t length = sizeof from.name;
        ssize_t got =
            recvfrom(peer, datagram, sizeof datagram, 0, (struct sockaddr *)&from.name, &length);
        from.size = length;
        REQUIRE(got > 0);
        CHECK(kino__fabric_address_equal(&from, &client.own));
        REQUIRE_EQ(kino__fabric_read((kino_str){datagram, (size_t)got}, &message, &err), KINO_OK);
        REQUIRE_EQ(kino__fabric_read_poll(message.payload, &poll, &err), KINO_OK);
        CHECK_EQ(poll.mask, accepts ? 2 : 0);
        CHECK_EQ(poll.job, 4242);
        CHECK_EQ(poll.pids[0], getpid());
        CHECK_EQ(poll.pids[1], getppid());
    }
    send_text(peer, &client, "");
    send_text(peer, &client, "A=1\nB=2\n");
    CHECK_EQ(receive(&client, &text), KINO_OK);
    CHECK_STR(text, "");
    CHECK_EQ(receive(&client, &text), KINO_OK);
    CHECK_STR(text, "A=1\nB=2\n");
    CHECK_EQ(receive(&client, &text), KINO_NOT_FOUND);
    CHECK_EQ(client.counts.polls, 2);
    CHECK_EQ(client.counts.replies, 2);
    CHECK_EQ(client.counts.texts, 1);
    CHECK_EQ(client.counts.bad_replies, 0);
    kino__fabric_close(&client);
    kino__fabric_close(&client); /* twice does no harm */
    (void)close(peer);
}

TEST(fabric_client_in_the_abstract_namespace)
{
    talk(NULL);
}

TEST(fabric_client_in_a_folder)
{
    const char *folder = test_tmp("s");
    struct stat info;
    REQUIRE_EQ(mkdir(folder, 0700), 0);
    talk(folder);
    kino__fabric_client client = open_client(folder);
    CHECK_EQ(stat(client.own.name.sun_path, &info), 0);
    CHECK_EQ(info.st_mode & 0777, 0600);
    pid_t child = fork();
    if (child == 0) {
        kino__fabric_close(&client); /* the file is the parent's */
        _exit(0);
    }
    REQUIRE(child > 0);
    (void)waitpid(child, NULL, 0);
    CHECK_EQ(stat(client.own.name.sun_path, &info), 0);
    kino__fabric_close(&client);
    CHECK_EQ(stat(client.own.name.sun_path, &info), -1); /* no litter */
    kino__fabric_options options = {test_tmp("absent"), NULL, NULL, -1};
    CHECK_EQ(kino__fabric_open(&options, &client, &err), KINO_IO);
    CHECK(strstr(err.message, "cannot create socket '") != NULL);
}

TEST(fabric_client_without_a_daemon_returns_at_once)
{
    kino__fabric_client client = open_client(NULL);
    CHECK_EQ(kino__fabric_send(&client, true, &err), KINO_UNAVAILABLE);
    CHECK_STR(err.message, "cannot send to the daemon: connection refused");
    /* one that does not read */
    int peer = open_peer(NULL, daemon_name());
    int sent = 0;
    while (sent < 100000 && kino__fabric_send(&client, true, &err) == KINO_OK)
        sent++;
    CHECK(sent < 100000);
    CHECK_EQ(client.counts.unsent, 2);
    CHECK_EQ(client.counts.polls, sent);
    (void)close(peer);
    kino__fabric_close(&client);
}

/* All that takes an unmodified libkineto down, or makes it believe anything. */
TEST(fabric_client_drops_what_is_not_the_daemons)
{
    kino__fabric_client client = open_client(NULL);
    char name[60];
    (void)snprintf(name, sizeof name, "%s-b", daemon_name());
    int daemon = open_peer(NULL, daemon_name()), nameless = open_peer(NULL, NULL);
    int other = open_peer(NULL, name);
    kino_str text;
    char bytes[100];
    send_text(nameless, &client, "A=1");
    CHECK_EQ(receive(&client, &text), KINO_FORMAT);
    CHECK_STR(err.message, "received a datagram that is not from the daemon");
    send_text(other, &client, "A=1");
    CHECK_EQ(receive(&client, &text), KINO_FORMAT);
    CHECK_EQ(text.size, 0);
    send_raw(daemon, &client, "short", 5);
    CHECK_EQ(receive(&client, &text), KINO_FORMAT);
    send_raw(daemon, &client, "", 0);
    CHECK_EQ(receive(&client, &text), KINO_FORMAT);
    CHECK_STR(err.message, "datagram of 0 bytes is shorter than its header");
    kino__fabric_header("req", UINT64_MAX, (unsigned char *)bytes);
    send_raw(daemon, &client, bytes, 40);
    CHECK_EQ(receive(&client, &text), KINO_FORMAT);
    kino__fabric_header("req", 8, (unsigned char *)bytes);
    send_raw(daemon, &client, bytes, 44);
    CHECK_EQ(receive(&client, &text), KINO_FORMAT);
    CHECK_STR(err.message, "datagram claims 8 bytes but has 4");
    size_t size = kino__fabric_put_count(1, bytes, sizeof bytes);
    send_raw(daemon, &client, bytes, size);
    CHECK_EQ(receive(&client, &text), KINO_FORMAT);
    CHECK_STR(err.message, "received a datagram of an unknown type");
    size_t huge = KINO__FABRIC_DATAGRAM_MAX + 1;
    char *large = calloc(1, huge);
    REQUIRE(large != NULL);
    kino__fabric_header("req", huge - 40, (unsigned char *)large);
    send_raw(daemon, &client, large, huge);
    free(large);
    CHECK_EQ(receive(&client, &text), KINO_FORMAT);
    CHECK_STR(err.message, "received a datagram of more than 65576 bytes");
    CHECK_EQ(client.counts.bad_replies, 8);
    CHECK_EQ(client.counts.replies, 0);
    /* and still listens */
    send_text(daemon, &client, "A=1");
    CHECK_EQ(receive(&client, &text), KINO_OK);
    CHECK_STR(text, "A=1");
    (void)close(daemon);
    (void)close(nameless);
    (void)close(other);
    kino__fabric_close(&client);
}

/* A daemon of another user is a stranger, whatever name its socket has. */
TEST(fabric_client_checks_the_user)
{
    if (geteuid() != 0)
        SKIP("needs root to be somebody else");
    kino__fabric_client client = open_client(NULL);
    char name[40];
    (void)snprintf(name, sizeof name, "%s", daemon_name());
    pid_t child = fork();
    if (child == 0) {
        kino__fabric_address address;
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || setresuid(12345, 12345, 12345) != 0 ||
            kino__fabric_address_make(NULL, name, &address, &err) != KINO_OK ||
            bind(fd, (struct sockaddr *)&address.name, address.size) != 0)
            _exit(1);
        send_text(fd, &client, "A=1");
        send_text(fd, &client, "A=2");
        _exit(0);
    }
    REQUIRE(child > 0);
    int status = -1;
    (void)waitpid(child, &status, 0);
    REQUIRE_EQ(status, 0);
    kino_str text;
    CHECK_EQ(receive(&client, &text), KINO_FORMAT);
    CHECK_STR(err.message, "received a datagram from a daemon of user 12345 (see KINO_DAEMON_UID)");
    client.daemon_uid = 12345;
    CHECK_EQ(receive(&client, &text), KINO_OK);
    CHECK_STR(text, "A=2");
    kino__fabric_close(&client);
}

TEST(fabric_client_knows_its_ancestors)
{
    int32_t pids[11];
    uint32_t count = kino__fabric_ancestors(getpid(), pids, 11);
    REQUIRE(count >= 1);
    CHECK_EQ(pids[0], getpid());
    if (getppid() != 1) {
        REQUIRE(count >= 2);
        CHECK_EQ(pids[1], getppid());
    }
    for (uint32_t i = 1; i < count; i++)
        CHECK(pids[i] != 1);
    CHECK_EQ(kino__fabric_ancestors(1, pids, 11), 1);
    CHECK_EQ(pids[0], 1);
    CHECK_EQ(kino__fabric_ancestors(getpid(), pids, 1), 1);
}

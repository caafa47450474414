/* status_top.c - the terminal of `kino status --top`: another screen, no echo, a frame each second,
 * and everything as it was at the end, however it comes. */
#include "cli/status_top.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/interrupt.h"

enum { FRAME_MS = 1000 };

/* Block characters where the locale's character set has them. */
static bool is_plain_locale(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < 3; i++) {
        const char *value = getenv(variables[i]); /* NOLINT(concurrency-mt-unsafe) */
        if (value && *value)
            return !strstr(value, "UTF-8") && !strstr(value, "utf8") && !strstr(value, "UTF8");
    }
    return true;
}

static kino_status make_frame(const kino__client *client, const kino__top_view *view,
                              kino__buffer *out, kino_error *err)
{
    kino__client_answer metrics, requests;
    KINO_TRY(kino__client_call(client, KINO__STR("{\"fn\":\"getMetrics\",\"seconds\":60}"),
                               &metrics, err));
    kino_status st = kino__client_ask(client, "getRequests", &requests, err);
    if (st == KINO_OK) {
        kino__top_frame(view, metrics.root, requests.root, out);
        kino__client_answer_deinit(&requests);
        st = out->failed ? kino__fail_nomem(err) : KINO_OK;
    }
    kino__client_answer_deinit(&metrics);
    return st;
}

static bool write_all(kino_str text)
{
    while (text.size > 0) {
        ssize_t size = write(STDOUT_FILENO, text.data, text.size);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return false;
        text = (kino_str){text.data + size, text.size - (size_t)size};
    }
    return true;
}

static int print_once(const kino__client *client, bool color)
{
    kino__top_view view = {.color = color, .is_plain = is_plain_locale()};
    kino__buffer out = {0};
    kino_error err;
    int code = KINO__EXIT_OK;
    if (make_frame(client, &view, &out, &err) != KINO_OK)
        code = kino__report_error(&err, KINO__EXIT_FAILED);
    else if (!write_all(kino__buffer_str(&out)))
        code = KINO__EXIT_FAILED;
    kino__buffer_deinit(&out);
    return code;
}

/* -- live -- */

/* Overwrites the frame before: each line wipes the rest of its old one, the last one what is
 * below. */
static bool draw(kino_str frame)
{
    kino__buffer out = {0};
    kino__buffer_printf(&out, "\033[H");
    for (size_t i = 0, from = 0; i < frame.size; i++) {
        if (frame.data[i] != '\n')
            continue;
        kino__buffer_add(&out, (kino_str){frame.data + from, i - from});
        kino__buffer_printf(&out, "\033[K%s", i + 1 < frame.size ? "\r\n" : "");
        from = i + 1;
    }
    kino__buffer_printf(&out, "\033[J");
    bool is_written = !out.failed && write_all(kino__buffer_str(&out));
    kino__buffer_deinit(&out);
    return is_written;
}

/* Only there so that a change of the size ends the wait for a key. */
static void on_resize(int number)
{
    (void)number;
}

/* Waits for the next frame's turn; false: the user has seen enough. */
static bool wait_for_key(int terminal)
{
    struct pollfd keys = {terminal, POLLIN, 0};
    char key = 0;
    if (poll(&keys, 1, FRAME_MS) <= 0)
        return !kino__interrupt_was_asked();
    if (read(terminal, &key, 1) != 1)
        return false;
    return key != 'q' && key != 'Q' && key != 3 && key != 4 && !kino__interrupt_was_asked();
}

static kino_status run_frames(const kino__client *client, bool color, int terminal, kino_error *err)
{
    kino_status st = KINO_OK;
    kino__buffer out = {0};
    do {
        struct winsize size = {0};
        (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
        kino__top_view view = {size.ws_col, size.ws_row, color, is_plain_locale()};
        out.size = 0;
        st = make_frame(client, &view, &out, err);
        if (st == KINO_OK && !draw(kino__buffer_str(&out)))
            break; /* the terminal is gone */
    } while (st == KINO_OK && wait_for_key(terminal));
    kino__buffer_deinit(&out);
    return st;
}

static int run_live(const kino__client *client, bool color)
{
    struct termios before, raw;
    kino_error err;
    /* Ctrl-C puts /dev/null in place of standard input (interrupt.c). */
    int terminal = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (terminal < 0 || tcgetattr(terminal, &before) != 0) {
        (void)close(terminal);
        return print_once(client, color);
    }
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    struct sigaction resize = {.sa_handler = on_resize}, old_resize;
    (void)sigaction(SIGWINCH, &resize, &old_resize);
    (void)tcsetattr(terminal, TCSANOW, &raw);
    (void)write_all(KINO__STR("\033[?1049h\033[?25l\033[2J"));
    kino_status st = run_frames(client, color, terminal, &err);
    (void)write_all(KINO__STR("\033[?25h\033[?1049l"));
    (void)tcsetattr(terminal, TCSANOW, &before);
    (void)close(terminal);
    (void)sigaction(SIGWINCH, &old_resize, NULL);
    return st == KINO_OK ? KINO__EXIT_OK : kino__report_error(&err, KINO__EXIT_FAILED);
}

int kino__status_top_run(const kino__client *client, bool color)
{
    if (client->kind != KINO__CLIENT_KINO) {
        kino__report_note("--top requires a Kino daemon; the one at %s is a Dynolog daemon",
                          client->place);
        return KINO__EXIT_FAILED;
    }
    bool is_live = isatty(STDOUT_FILENO) == 1 && isatty(STDIN_FILENO) == 1;
    return is_live ? run_live(client, color) : print_once(client, color);
}

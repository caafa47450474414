/* collect.c - see collect.h. */
#include "client/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "daemon/access.h"

enum { LINKS_MAX = 40 };

/* -- who wrote it */

/* The root folder of the process: -1 and errno. It is the process's when the identity is still the
 * same afterwards. */
static int open_root(const kino__process_identity *owner, bool is_alive)
{
    char path[48];
    (void)snprintf(path, sizeof path, "/proc/%d/root", owner->pid);
    int fd = is_alive ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    bool is_same_world =
        owner->file_space == 0 || owner->file_space == kino__process_own_file_space();
    /* It has ended, or may not be looked into: then only where its world is ours. */
    if (fd < 0 && is_same_world && (!is_alive || errno == EACCES || errno == ENOENT))
        fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    else if (fd < 0 && !is_alive)
        errno = ESRCH;
    return fd;
}

static bool is_there(int32_t pid, uint64_t start_time, kino__process_identity *out)
{
    return kino__process_identify(pid, out) && (!start_time || out->start_time == start_time);
}

static kino_status find_owner(const kino__collect_from *from, kino__collected *out, int *root,
                              kino_error *err)
{
    kino__process_identity *owner = &out->owner, now;
    out->is_alive = is_there(from->pid, from->start_time, owner);
    if (!out->is_alive && !from->has_owner)
        return kino__fail(err, KINO_NOT_FOUND,
                          "process %d has ended, so the owner of the file is unknown", from->pid);
    if (!out->is_alive)
        *owner = (kino__process_identity){
            .pid = from->pid, .uid = from->uid, .gid = from->gid, .file_space = from->file_space};
    if (from->only_uid != (uid_t)-1 && owner->uid != from->only_uid)
        return kino__fail(err, KINO_ARGUMENT,
                          "the daemon belongs to user %u, the process to user %u",
                          (unsigned)from->only_uid, (unsigned)owner->uid);
    if (geteuid() != 0 && owner->uid != geteuid())
        return kino__fail(err, KINO_ARGUMENT, "process %d belongs to user %u", from->pid,
                          (unsigned)owner->uid);
    *root = open_root(owner, out->is_alive);
    if (*root < 0)
        return kino__fail_errno(err, errno, "cannot access the files of process %d", from->pid);
    if (out->is_alive && !is_there(from->pid, owner->start_time, &now))
        return kino__fail(err, KINO_NOT_FOUND, "process %d has just ended", from->pid);
    return KINO_OK;
}

/* -- its folder */

typedef struct walk {
    int root, at;        /* at: the folder reached */
    unsigned links;      /* followed so far */
    char rest[PATH_MAX]; /* what is left to go */
    uid_t stranger;      /* whose link was not followed */
} walk;

static void step_to(walk *w, int fd)
{
    if (w->at != w->root)
        (void)close(w->at);
    w->at = fd;
}

static bool is_same(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Puts what a link says in front of the rest. 0 or errno. */
static int follow_link(walk *w, int link)
{
    char target[PATH_MAX], joined[PATH_MAX];
    struct stat info;
    if (fstat(link, &info) < 0)
        return errno;
    if (!S_ISLNK(info.st_mode))
        return ENOTDIR;
    if (info.st_uid != 0 && info.st_uid != geteuid()) {
        w->stranger = info.st_uid;
        return EPERM;
    }
    ssize_t size = readlinkat(link, "", target, sizeof target - 1);
    if (size <= 0 || ++w->links > LINKS_MAX)
        return size < 0 ? errno : ELOOP;
    target[size] = '\0';
    int length = snprintf(joined, sizeof joined, "%s/%s", target, w->rest);
    if (length < 0 || (size_t)length >= sizeof joined)
        return ENAMETOOLONG;
    memcpy(w->rest, joined, (size_t)length + 1);
    if (target[0] == '/')
        step_to(w, w->root);
    return 0;
}

/* Into one folder, or along one link. 0 or errno. */
static int step(walk *w, const char *part)
{
    if (strcmp(part, ".") == 0 || (strcmp(part, "..") == 0 && is_same(w->at, w->root)))
        return 0;
    int fd = openat(w->at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        step_to(w, fd);
        return 0;
    }
    if (errno != ENOTDIR && errno != ELOOP)
        return errno;
    int link = openat(w->at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (link < 0)
        return errno;
    int wrong = follow_link(w, link);
    (void)close(link);
    return wrong;
}

/* Goes to the folder of the last part, whose name is then in `name`. 0 or errno. */
static int walk_to(walk *w, char name[NAME_MAX + 1])
{
    for (;;) {
        char part[NAME_MAX + 1];
        size_t skip = strspn(w->rest, "/"), size = strcspn(w->rest + skip, "/");
        size_t more = skip + size + strspn(w->rest + skip + size, "/");
        if (size == 0)
            return EISDIR;
        if (size > NAME_MAX)
            return ENAMETOOLONG;
        memcpy(part, w->rest + skip, size);
        part[size] = '\0';
        bool is_last = w->rest[more] == '\0';
        memmove(w->rest, w->rest + more, strlen(w->rest + more) + 1);
        if (is_last) {
            memcpy(name, part, size + 1);
            return strcmp(part, ".") == 0 || strcmp(part, "..") == 0 ? EISDIR : 0;
        }
        int wrong = step(w, part);
        if (wrong)
            return wrong;
    }
}

/* -- the file */

/* NULL: this is a file of the process's user. */
static const char *check_file(const struct stat *info, uid_t owner)
{
    if (S_ISLNK(info->st_mode))
        return "is a symbolic link";
    if (!S_ISREG(info->st_mode))
        return "not a regular file";
    if (info->st_uid != owner)
        return "not owned by the user of the process";
    return NULL;
}

/* Both before opening, since opening some devices does something, and on what was opened. */
static kino_status open_file(kino__collected *out, const char *path, kino_error *err)
{
    struct stat info;
    const char *wrong = NULL;
    if (fstatat(out->folder, out->name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return kino__fail_errno(err, errno, "cannot open '%s'", path);
    wrong = check_file(&info, out->owner.uid);
    if (!wrong) {
        out->fd = openat(out->folder, out->name,
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (out->fd < 0 || fstat(out->fd, &info) < 0)
            return kino__fail_errno(err, errno, "cannot open '%s' as user %u", path,
                                    (unsigned)out->owner.uid);
        wrong = check_file(&info, out->owner.uid);
    }
    out->bytes = (int64_t)info.st_size;
    if (wrong)
        return kino__fail(err, KINO_ARGUMENT, "cannot read '%s': %s", path, wrong);
    return KINO_OK;
}

static kino_status find_file(kino__collected *out, int root, const char *path, kino_error *err)
{
    walk w = {.root = root, .at = root, .stranger = (uid_t)-1};
    size_t size = strlen(path);
    if (path[0] != '/' || size >= sizeof w.rest)
        return kino__fail(err, KINO_ARGUMENT, "'%.200s' is not an absolute path", path);
    memcpy(w.rest, path, size + 1);
    int wrong = walk_to(&w, out->name);
    if (wrong) {
        step_to(&w, root);
        return w.stranger != (uid_t)-1
                   ? kino__fail(err, KINO_ARGUMENT,
                                "cannot read '%s': the path contains a symbolic link of user %u",
                                path, (unsigned)w.stranger)
                   : kino__fail_errno(err, wrong, "cannot open '%s'", path);
    }
    out->folder = w.at == root ? fcntl(root, F_DUPFD_CLOEXEC, 0) : w.at;
    if (out->folder < 0)
        return kino__fail_errno(err, errno, "cannot open '%s'", path);
    return open_file(out, path, err);
}

/* -- with its rights */

static bool take_rights(const kino__collected *trace)
{
    bool done = kino__access_as(trace->owner.uid, trace->owner.gid);
    if (done && trace->is_alive)
        (void)kino__access_with_groups(trace->owner.pid);
    if (!done)
        kino__access_self();
    return done;
}

/* A name for the descriptor that ends like the file's own: readers take ranks from names. */
static kino_status name_it(kino__collected *out, kino_error *err)
{
    char target[32];
    (void)snprintf(out->place, sizeof out->place, "/tmp/kino-collect-XXXXXX");
    if (!mkdtemp(out->place)) {
        out->place[0] = '\0';
        return kino__fail_errno(err, errno, "cannot create a directory in /tmp");
    }
    (void)snprintf(out->path, sizeof out->path, "%s/%s", out->place, out->name);
    (void)snprintf(target, sizeof target, "/proc/self/fd/%d", out->fd);
    if (symlink(target, out->path) < 0)
        return kino__fail_errno(err, errno, "cannot write to '%s'", out->place);
    return KINO_OK;
}

kino_status kino__collect_open(const kino__collect_from *from, const char *path,
                               kino__collected *out, kino_error *err)
{
    int root = -1;
    *out = (kino__collected){.fd = -1, .folder = -1};
    kino_status st = find_owner(from, out, &root, err);
    out->is_foreign =
        out->owner.uid != geteuid() ||
        (out->owner.file_space && out->owner.file_space != kino__process_own_file_space());
    if (st == KINO_OK && !take_rights(out))
        st = kino__fail(err, KINO_ARGUMENT, "cannot switch to user %u", (unsigned)out->owner.uid);
    else if (st == KINO_OK) {
        st = find_file(out, root, path, err);
        kino__access_self();
    }
    if (root >= 0)
        (void)close(root);
    if (st == KINO_OK)
        st = name_it(out, err);
    if (st != KINO_OK)
        kino__collect_close(out);
    return st;
}

kino_status kino__collect_remove(kino__collected *trace, kino_error *err)
{
    struct stat mine, there;
    if (!take_rights(trace))
        return kino__fail(err, KINO_ARGUMENT, "cannot switch to user %u",
                          (unsigned)trace->owner.uid);
    int wrong = 0;
    if (fstat(trace->fd, &mine) < 0 ||
        fstatat(trace->folder, trace->name, &there, AT_SYMLINK_NOFOLLOW) < 0)
        wrong = errno;
    else if (mine.st_dev != there.st_dev || mine.st_ino != there.st_ino)
        wrong = ESTALE;
    else if (unlinkat(trace->folder, trace->name, 0) < 0)
        wrong = errno;
    kino__access_self();
    return wrong ? kino__fail_errno(err, wrong, "cannot remove '%s'", trace->name) : KINO_OK;
}

void kino__collect_close(kino__collected *trace)
{
    if (trace->path[0])
        (void)unlink(trace->path);
    if (trace->place[0])
        (void)rmdir(trace->place);
    if (trace->fd >= 0)
        (void)close(trace->fd);
    if (trace->folder >= 0)
        (void)close(trace->folder);
    *trace = (kino__collected){.fd = -1, .folder = -1};
}

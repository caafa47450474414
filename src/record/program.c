/* program.c - finding the program, and what it is: ELF headers, scripts, rights. */
#include "record/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"

enum { HEAD_BYTES = 4096, SCRIPTS_MAX = 5, HEADERS_MAX = 64 };

/* -- where it is */

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static bool set_path(char *out, const char *folder, size_t folder_size, const char *name)
{
    int size = folder_size
                   ? snprintf(out, KINO__PROGRAM_PATH, "%.*s/%s", (int)folder_size, folder, name)
                   : snprintf(out, KINO__PROGRAM_PATH, "%s", name);
    return size > 0 && size < KINO__PROGRAM_PATH;
}

static kino_status search(const char *name, char *out, kino_error *err)
{
    const char *path = getenv("PATH"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
    bool is_forbidden = false;
    if (!path)
        path = "/bin:/usr/bin";
    for (const char *at = path;; at++) {
        size_t size = strcspn(at, ":");
        if (set_path(out, size ? at : ".", size ? size : 1, name)) {
            if (is_program(out))
                return KINO_OK;
            is_forbidden |= access(out, F_OK) == 0;
        }
        at += size;
        if (!*at)
            break;
    }
    if (is_forbidden)
        return kino__fail(err, KINO_UNAVAILABLE, "cannot run '%s': permission denied", name);
    return kino__fail(err, KINO_NOT_FOUND, "cannot run '%s': not found in PATH", name);
}

static kino_status locate(const char *name, char *out, kino_error *err)
{
    struct stat info;
    if (!strchr(name, '/') && *name)
        return search(name, out, err);
    if (!set_path(out, NULL, 0, name))
        return kino__fail(err, KINO_NOT_FOUND, "cannot run '%s': no such file", name);
    if (stat(out, &info) != 0) {
        (void)kino__fail_errno(err, errno, "cannot run '%s'", name);
        return errno == ENOENT || errno == ENOTDIR ? KINO_NOT_FOUND : KINO_UNAVAILABLE;
    }
    if (is_program(out))
        return KINO_OK;
    return kino__fail(err, KINO_UNAVAILABLE, "cannot run '%s': %s", name,
                      S_ISREG(info.st_mode) ? "permission denied" : "not a regular file");
}

/* -- whose rights it gets: the loader ignores LD_PRELOAD and the like then, as it must */

static kino_status refuse(const char *path, const char *how, kino_error *err)
{
    return kino__fail(err, KINO_UNAVAILABLE,
                      "cannot record '%s': %s, and a program with elevated privileges cannot be "
                      "traced; run 'kino record' as the user whose privileges it gets",
                      path, how);
}

static kino_status check_rights(const char *path, kino_error *err)
{
    struct stat info;
    struct statvfs mount;
    char capability[64];
    if (stat(path, &info) != 0)
        return kino__fail_errno(err, errno, "cannot run '%s'", path);
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
        (statvfs(path, &mount) == 0 && (mount.f_flag & ST_NOSUID)))
        return KINO_OK; /* it gets no rights */
    if ((info.st_mode & S_ISUID) && info.st_uid != geteuid())
        return refuse(path, "it is set-user-ID", err);
    if ((info.st_mode & S_ISGID) && (info.st_mode & S_IXGRP) && info.st_gid != getegid())
        return refuse(path, "it is set-group-ID", err);
    if (geteuid() != 0 && getxattr(path, "security.capability", capability, sizeof capability) > 0)
        return refuse(path, "it has file capabilities", err);
    return KINO_OK;
}

/* -- what it is */

static ssize_t read_head(const char *path, char *head)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? pread(fd, head, HEAD_BYTES, 0) : -1;
    if (fd >= 0)
        close(fd);
    return size;
}

/* "#! /usr/bin/env python3": the interpreter; false: not a script. */
static bool read_script(const char *head, size_t size, char *interpreter)
{
    size_t at = 2, end;
    if (size < 3 || head[0] != '#' || head[1] != '!')
        return false;
    while (at < size && (head[at] == ' ' || head[at] == '\t'))
        at++;
    for (end = at; end < size && !strchr(" \t\n", head[end]) && head[end]; end++)
        ;
    if (end == at || end - at >= KINO__PROGRAM_PATH)
        return false;
    memcpy(interpreter, head + at, end - at);
    interpreter[end - at] = '\0';
    return true;
}

/* The path of its loader; "" when it has none. False: the headers make no sense. */
static bool read_loader(const char *path, const Elf64_Ehdr *elf, char *loader)
{
    bool ok = false;
    loader[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < elf->e_phnum && i < HEADERS_MAX; i++) {
        Elf64_Phdr header;
        if (pread(fd, &header, sizeof header,
                  (off_t)(elf->e_phoff + (uint64_t)i * sizeof header)) != sizeof header)
            break;
        ok = true;
        if (header.p_type != PT_INTERP)
            continue;
        ssize_t size = pread(fd, loader, 255, (off_t)header.p_offset);
        loader[size > 0 ? size : 0] = '\0';
        break;
    }
    if (fd >= 0)
        close(fd);
    return ok;
}

static const char *find_blindness(const char *path, const char *head, ssize_t size)
{
    Elf64_Ehdr elf, own;
    char loader[256];
    if (size < (ssize_t)sizeof elf || memcmp(head, ELFMAG, SELFMAG) != 0)
        return NULL; /* the shell runs it */
    if (head[EI_CLASS] != ELFCLASS64)
        return "32-bit program";
    memcpy(&elf, head, sizeof elf);
    char self[HEAD_BYTES];
    ssize_t self_size = read_head("/proc/self/exe", self);
    if (self_size >= (ssize_t)sizeof own) {
        memcpy(&own, self, sizeof own);
        if (own.e_machine != elf.e_machine)
            return "built for another processor";
    }
    if (elf.e_phentsize != sizeof(Elf64_Phdr) || !read_loader(path, &elf, loader))
        return NULL;
    if (!loader[0])
        return "statically linked";
    if (strstr(loader, "ld-musl"))
        return "uses another C library (musl)";
    return NULL;
}

kino_status kino__program_find(const char *name, kino__program *out, kino_error *err)
{
    char head[HEAD_BYTES];
    *out = (kino__program){0};
    KINO_TRY(locate(name, out->path, err));
    (void)snprintf(out->image, sizeof out->image, "%s", out->path);
    for (int i = 0; i < SCRIPTS_MAX; i++) {
        ssize_t size = read_head(out->image, head);
        if (size < 0) { /* may be run, not read: nothing is known of it */
            return check_rights(out->image, err);
        }
        if (!read_script(head, (size_t)size, out->image)) {
            out->blind = find_blindness(out->image, head, size);
            return check_rights(out->image, err); /* of scripts the system takes no rights */
        }
        if (!is_program(out->image))
            return kino__fail(err, KINO_NOT_FOUND,
                              "cannot run '%s': interpreter '%s' in its first line not found", name,
                              out->image);
    }
    return kino__fail(err, KINO_UNAVAILABLE,
                      "cannot run '%s': too many levels of script interpreters", name);
}

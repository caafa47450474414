/* injection.h - what `kino record` tells the library that it puts into programs, and the other way
 * round: the environment, and the log of processes.
 *
 * `kino record` makes a private work folder. Each process finds it in its environment, adds lines
 * to the log in it, and keeps its buffers there (wire/ring_format.h). Nothing is written anywhere
 * else by the recorded programs; what the files mean is worked out when they have ended. */
#ifndef KINO__WIRE_INJECTION_H
#define KINO__WIRE_INJECTION_H

#include <kino/base.h>

/* The work folder; without it the library only records what the program asks for. */
#define KINO__INJECT_FOLDER "KINO_RECORD_FOLDER"
/* Bytes of the buffers of a process; 0 or nothing: libkino's default. */
#define KINO__INJECT_BUDGET "KINO_RECORD_BUDGET"
/* "flight": the newest is kept when the buffers are full. */
#define KINO__INJECT_MODE "KINO_RECORD_MODE"
/* The window, ns of CLOCK_MONOTONIC; 0 or nothing: open. */
#define KINO__INJECT_FROM  "KINO_RECORD_FROM"
#define KINO__INJECT_UNTIL "KINO_RECORD_UNTIL"
/* The process that records from its first instruction on; others begin with their first event. */
#define KINO__INJECT_MAIN "KINO_RECORD_MAIN"
/* Filters on system calls that `kino record` itself is under (a container's). A program that has
 * more set some for itself or its children, and is left alone. */
#define KINO__INJECT_FILTERS "KINO_RECORD_FILTERS"
/* What is recorded of Python programs: a list of "operators", "shapes", "memory", "functions" and
 * "samples". The hook that Python runs as it starts is in a folder of its own (record/python.c). */
#define KINO__INJECT_PYTHON        "KINO_RECORD_PYTHON"
#define KINO__INJECT_PYTHON_FOLDER "python"

/* Filters on system calls of this process; 0: none. Opens and reads a file, nothing else. */
uint64_t kino__seccomp_filters(void);

/* The log: one line each, written with one write() to a file opened for appending.
 *
 *   exec PID PPID RAW_NS COMMAND      a program began
 *   fork PID PPID RAW_NS              a process began without exec
 *   exit PID RAW_NS                   it ended in the regular way
 *   rank PID RANK WORLD LOCAL N JOB   where its launcher put it, as it begins and again as it ends;
 *                                     "-": not said; N: whose variables (base/process_place.h)
 *   own PID TID RAW_NS RAW_NS         the recorder worked in that thread: its buffers, its devices
 *   pause PID RAW_NS                  the program wants nothing recorded, until exec at the latest
 *   resume PID RAW_NS                 and now it does again
 *   note PID TEXT                     why the process is not recorded
 *   say PID TEXT                      something else that the user should know
 */
#define KINO__INJECT_LOG "processes"
enum { KINO__INJECT_LINE_MAX = 1024 };

/* Names of the recorder's own threads, by which samples of the CPU know them. */
#define KINO__THREAD_RECORDER "kino-recorder"
#define KINO__THREAD_OPENCL   "kino-opencl"

#endif

/* xpu.h - what a program can have the stand-in's device do. SYCL is C++ and has no such functions:
 * these are its own. */
#ifndef STANDIN_XPU_XPU_H
#define STANDIN_XPU_XPU_H

#include <stdint.h>

enum { XPU_HTOD = 6, XPU_DTOH = 9 }; /* PTI's numbers */

void xpu_kernel(uint64_t queue, const char *name, const char *file, uint64_t length);
void xpu_graph(uint64_t queue);
void xpu_copy(uint64_t queue, int type, uint64_t bytes);
void xpu_copy_p2p(uint64_t queue, uint64_t bytes);
void xpu_fill(uint64_t queue, uint64_t value, uint64_t bytes);
void xpu_wait(void);
void xpu_overhead(uint64_t length, uint64_t cost);
void xpu_collective(const char *name, uint64_t length);
int xpu_views(void); /* that are on */

#endif

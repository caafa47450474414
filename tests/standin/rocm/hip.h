/* hip.h - the functions of HIP and ROCTX that the stand-in has, with their public prototypes. */
#ifndef STANDIN_ROCM_HIP_H
#define STANDIN_ROCM_HIP_H

#include <stddef.h>
#include <stdint.h>

typedef struct hip_dim3 {
    uint32_t x, y, z;
} hip_dim3;
enum { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2, hipMemcpyDeviceToDevice = 3 };

int hipLaunchKernel(const void *function, hip_dim3 grid, hip_dim3 block, void **args, size_t shared,
                    void *stream);
int hipLaunchCooperativeKernel(const void *function, hip_dim3 grid, hip_dim3 block, void **args,
                               unsigned shared, void *stream);
int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream, void **params,
                          void **extra);
int hipExtModuleLaunchKernel(void *function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx,
                             uint32_t by, uint32_t bz, size_t shared, void *stream, void **params,
                             void **extra, void *start, void *stop, uint32_t flags);
int hipGraphLaunch(void *graph, void *stream);
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int hipMalloc(void **pointer, size_t bytes);
int hipFree(void *pointer);
int hipDeviceSynchronize(void);
int hipGetDevice(int *out);
int hipRuntimeGetVersion(int *out);
int hipDriverGetVersion(int *out);

void roctxMarkA(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char *message);
void roctxRangeStop(uint64_t range);

/* Kernels, by their host functions, and what no function of HIP does. */
void standin_vector_add(void);
void standin_scale(void);
void standin_capture(int is_on);  /* launches go into a graph, not to the device */
uint64_t standin_callbacks(void); /* that tools have got so far */
void standin_scratch(int operation, uint64_t length);

#endif

/* unaware.c - a program that uses an XPU and knows nothing of kino. */
#include <stdio.h>

#include "xpu.h"

int main(void)
{
    for (uint64_t i = 1; i <= 3; i++)
        xpu_kernel(1, "alone", NULL, i * 1000);
    xpu_wait();
    puts("done");
    return 5;
}

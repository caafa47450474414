/* other.c - somebody else's profiler: it is linked with PTI, which is how such are known. */
const char *ptiVersionString(void);
const char *other_profiler(void);

const char *other_profiler(void)
{
    return ptiVersionString();
}

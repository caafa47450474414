/* tool.c - somebody else's tool of rocprofiler: all that is needed is that it has the entry. */
#include <stddef.h>

void *rocprofiler_configure(unsigned version, const char *text, unsigned priority, void *client);

void *rocprofiler_configure(unsigned version, const char *text, unsigned priority, void *client)
{
    (void)version;
    (void)text;
    (void)priority;
    (void)client;
    return NULL;
}

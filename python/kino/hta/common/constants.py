"""Numbers that hold for all traces."""
#: So many launches wait on a stream before the host has to wait, too.
CUDA_MAX_LAUNCH_QUEUE_PER_STREAM: int = 1024
#: Longer durations come from clocks that overflowed: 7 days.
MAX_EVENT_DURATION_US: int = 7 * 24 * 3600 * 1_000_000

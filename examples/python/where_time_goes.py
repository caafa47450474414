"""Where the time of a training run goes: python3 where_time_goes.py RUN"""
import sys

import kino

with kino.open(sys.argv[1]) as run:
    print(run.report())
    breakdown = run.temporal_breakdown()
    for row in breakdown:
        print(f"rank {row.rank}: computes {row.compute_time_pctg:.1f} % of the time, idle {row.idle_time / 1e6:.1f} ms")
    idle = run.idle_time(delay="50us").idle
    worst = max(idle, key=lambda row: row.idle_time)
    print(f"longest idle: rank {worst.rank}, stream {worst.stream}, {worst.idle_category}")
    for finding in run.report().findings:
        print(f"{finding.title}: {finding.do}")

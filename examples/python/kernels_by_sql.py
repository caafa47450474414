"""The kernels that take most time, by SQL: python3 kernels_by_sql.py RUN [LIMIT]"""
import sys

import kino

limit = int(sys.argv[2]) if len(sys.argv) > 2 else 5
with kino.open(sys.argv[1]) as run:
    table = run.query("SELECT name, count(*) AS calls, sum(dur) AS total FROM kernel GROUP BY name ORDER BY total DESC LIMIT ?", limit)
for row in table:  # a table does not need its run any more
    print(f"{row.total / 1e6:10.3f} ms {row.calls:6} x {row.name[:80]}")

# What memory is for, and what happened to it, are the framework's words: they stay.
echo '[[-1, 1, 512, 0], [100, 2, 1024, 4], [200, 4, -1024, 4]]' > memory.json
"$KINO" convert memory.json out.json --redact
"$KINO" query out.json "SELECT name, json_extract(args, '$.Category') AS category FROM event ORDER BY id" --format csv

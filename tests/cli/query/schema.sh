# All tables of the contract, as statements; a trace is not needed.
"$KINO" query .schema >schema.sql
for table in event arg track flow step counter device metadata string trace kernel memcpy memset runtime op python annotation memory_event collective; do
    grep -qiE "CREATE (VIRTUAL |TEMP )?(TABLE|VIEW) \"?$table\"?[ (]" schema.sql || echo "no $table"
done
"$KINO" query "$ROOT/tests/data/cli/small.json" .schema | cmp - schema.sql

mkdir run
echo hello >run/readme.txt
"$KINO" info run

# A second demo leaves nothing of the first; a folder with other files is left alone.
"$KINO" demo d --ranks 3 --steps 1 --no-info --quiet
"$KINO" demo d --ranks 1 --steps 1 --no-info --quiet --compress gz
ls d
mkdir other
echo mine >other/rank-7.json
code=0
"$KINO" demo other --ranks 1 --steps 1 --no-info || code=$?
echo "$code"
"$KINO" demo other --ranks 1 --steps 1 --no-info --quiet --force
"$KINO" demo other --ranks 1 --steps 1 --no-info --quiet --force
ls other
cat other/rank-7.json

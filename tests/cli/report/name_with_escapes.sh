# The name of a file that is left out may hold anything; none of it reaches the terminal as it is.
mkdir run
cp "$ROOT/tests/data/cli/small.json" run/
printf 'x' >"run/$(printf 'bad\033[31m\302\233\342\200\256name.json')"
"$KINO" report run >out 2>err
grep -h bad out err
if grep -q "$(printf '\033\|\302\233\|\342\200\256')" out err; then echo escaped; fi

# The CPU is measured in any case; what is printed can be given to --peak.
"$KINO" peaks --measure --format csv >list
head -1 list
sed -n 2p list | grep -c '^CPU,'
sed -n 2p list | grep -cE 'fp32=[0-9.e-]+,fp64=[0-9.e-]+,memory=[0-9.e-]+'

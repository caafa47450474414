# The CPU is measured in any case; what is printed can be given to --peak.
# OpenCL runtimes are not looked at for leaks: the sanitizer cannot stop their threads.
ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" "$KINO" peaks --measure --format csv >list
head -1 list
sed -n 2p list | grep -c '^CPU,'
sed -n 2p list | grep -cE 'fp32=[0-9.e-]+,fp64=[0-9.e-]+,memory=[0-9.e-]+'

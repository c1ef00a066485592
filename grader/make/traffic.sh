#!/bin/sh
# traffic.sh: what `make plots DATA=traffic` measures first: the bytes of global memory that lesson
# 12's naive step and its solution touch, counted by the CPU device (plots/traffic.cu), as CSV.
# usage: traffic.sh N...
# shellcheck disable=SC2046  # cxxflags is a list of words
lesson=12_flash_forward
[ -d solutions/$lesson ] || {
    echo "There are no solutions here to count: this is the student edition." >&2
    exit 2
}
out=build/plots/traffic
mkdir -p "$out" || exit 2
compile() { # compile FILE NAME CXXFLAGS
    build/cpu/rewrite "$1" "$out/$2.cpp" "$1" &&
        g++ $(cat "$3") -Igrader/cpu/include -Ilessons "-Ilessons/$lesson" -c "$out/$2.cpp" -o "$out/$2.o"
}
compile plots/traffic.cu main grader/cpu/cxxflags || exit 2
echo "N,d,version,device_bytes,l2_bytes"
for file in solutions/$lesson/steps/1_naive.cu solutions/$lesson/flash_forward.cu; do
    name=$(basename "$file" .cu)
    [ "$name" != flash_forward ] || name=solution
    compile "$file" "$name" grader/cpu/cxxflags-watched &&
        g++ -no-pie "$out/main.o" "$out/$name.o" build/libcpu.a -lpthread -lm -o "$out/$name" || exit 2
    CUDEV_WATCH=profile CUDEV_TIMEOUT=600 "$out/$name" "$name" "$@" || exit 1
done

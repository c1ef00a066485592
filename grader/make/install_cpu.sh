#!/bin/sh
# install_cpu.sh: what `make install-cpu PREFIX=/usr/local` does: the CPU device for programs
# outside this tree: the command cudev, its headers, library, manual and pkg-config file. DESTDIR=
# goes in front of everything. usage: install_cpu.sh BUILD PREFIX
build=$1 prefix=$2
[ -n "$prefix" ] || {
    echo "say where to: make install-cpu PREFIX=/usr/local, or a folder of your own" >&2
    exit 2
}
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
case $prefix in
*[!A-Za-z0-9/._+-]*)
    echo "PREFIX=$prefix: letters, digits and / . _ + - alone, so that every tool reads it right" >&2
    exit 2
    ;;
esac
to=${DESTDIR:-}$prefix
set -e
mkdir -p "$to/bin" "$to/lib/cudev" "$to/lib/pkgconfig" "$to/include/cudev" "$to/share/man/man1" \
    "$to/share/doc/cudev"
rm -rf "$to/include/cudev" # headers of an older version
mkdir -p "$to/include/cudev"
cp -R grader/cpu/include/. grader/cpu/any/include/. "$to/include/cudev/"
cp "$build/cpu/rewrite" grader/cpu/cxxflags grader/cpu/cxxflags-watched "$to/lib/cudev/"
cp "$build/cpu/libcudev.a" "$to/lib/"
cp grader/cpu/README.md grader/cpu/FIELD.md LICENSE "$to/share/doc/cudev/"
cp grader/cpu/cudev.1 "$to/share/man/man1/"
sed "s|@PREFIX@|$prefix|g" grader/cpu/cudev.pc >"$to/lib/pkgconfig/cudev.pc"
sed "s|@HOME@|$prefix|" grader/cpu/cudev.sh >"$to/bin/cudev"
chmod 755 "$to/bin/cudev" "$to/lib/cudev/rewrite"
echo "installed in $to: bin/cudev, include/cudev, lib/libcudev.a; try cudev --run x.cu, man cudev"
case :$PATH: in *":$prefix/bin:"*) ;; *) echo "put $prefix/bin into PATH" ;; esac

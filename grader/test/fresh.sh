#!/bin/sh
# fresh.sh: do the README's commands work on a fresh Debian 12, without gcc and make?
#
#   sh grader/test/fresh.sh              setup.sh, a grade as a plain user, then --dev and make test
#   sh grader/test/fresh.sh COMMAND...   COMMAND as root in the clone there instead; sh to look around
#
# As root, with debootstrap (sh setup.sh --dev) and a network. What is tested is a clone of the last
# commit, under a path with a blank. Nothing is left behind.
#   SUITE=bookworm  MIRROR=http://deb.debian.org/debian   another release
#   TEST_SEED=n     the same seeds again, and fewer of them, as CI does
#   ROOT=DIR        a root debootstrap made before, copied instead of making one

set -e
top=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
for tool in debootstrap unshare pivot_root; do
    command -v "$tool" >/dev/null || {
        echo "$tool is not installed. Run: sh setup.sh --dev" >&2
        exit 2
    }
done
[ "$(id -u)" = 0 ] || {
    echo "debootstrap and pivot_root need root." >&2
    exit 2
}
[ -z "$(git -C "$top" status --porcelain)" ] ||
    echo "Note: what is not committed is not tested." >&2

dir=$(mktemp -d)
# The mounts live in a namespace of their own and are gone when its last process is.
trap 'rm -rf --one-file-system "$dir"' EXIT
trap 'exit 130' INT TERM HUP
root=$dir/root
if [ -n "$ROOT" ]; then
    cp -a "$ROOT" "$root"
else
    echo "debootstrap ${SUITE:-bookworm} ..."
    debootstrap --variant=minbase "${SUITE:-bookworm}" "$root" \
        "${MIRROR:-http://deb.debian.org/debian}" >"$dir/log" 2>&1 || {
        tail -n 5 "$dir/log" >&2
        exit 2
    }
fi
cp /etc/resolv.conf /etc/hosts "$root/etc/"
home=/home/student
mkdir -p "$root$home"
git clone -q --no-hardlinks "$top" "$root$home/the course"

# Runs inside, as root, in the clone. A plain user has a home that nobody may write to.
cat >"$root/inside.sh" <<'INSIDE'
expect() { # expect TEXT FILE: the file holds the text
    grep -q "$1" "$2" || {
        echo "FAILED: this does not say \"$1\":"
        cat "$2"
        exit 1
    }
}
step() { # step USER COMMAND: runs it, and says how long it took
    start=$(date +%s)
    printf '\n--- %s: %s\n' "$1" "$2"
    su "$1" -c "$2" || {
        echo "FAILED: $2"
        exit 1
    }
    echo "--- $(($(date +%s) - start)) s"
}

if command -v gcc make; then
    echo "FAILED: this root is not a fresh one"
    exit 1
fi
useradd -M -d /home/student -s /bin/sh student
chown -R student: .
chmod 555 /home/student
if su student -c 'sh setup.sh' >/tmp/said 2>&1; then
    echo "FAILED: without root and without sudo, setup.sh must not succeed"
    exit 1
fi
expect 'apt-get install.* gcc ' /tmp/said
step root 'sh setup.sh'
sh setup.sh >/tmp/said
expect 'nothing to do' /tmp/said
step student 'make grade LESSON=12 FROM=solutions'
step student 'make grade LESSON=12 FROM=solutions'
if su student -c 'make grade LESSON=12' >/tmp/said; then
    echo "FAILED: the untouched exercise must not get full marks"
    exit 1
fi
expect 'Score: 0/100' /tmp/said
step root 'sh setup.sh --dev'
step student 'make test'
INSIDE

# bubblewrap does not work inside a chroot: the new root has to be the root of its mount namespace.
export root home
# shellcheck disable=SC2016  # the inner shell expands these
unshare --mount --pid --fork --kill-child --propagation private sh -ec '
    mount --bind "$root" "$root"
    cd "$root"
    mount -t proc proc proc
    mount -t sysfs -o ro sysfs sys
    mount -t tmpfs -o mode=755 dev dev
    for d in null zero full random urandom tty; do
        : >"dev/$d"
        mount --bind "/dev/$d" "dev/$d"
    done
    mkdir dev/pts dev/shm
    mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
    ln -s pts/ptmx dev/ptmx
    ln -s /proc/self/fd dev/fd
    mount -t tmpfs -o mode=1777 tmp dev/shm
    mount -t tmpfs -o mode=1777 tmp tmp
    mkdir -p old
    pivot_root . old
    umount -l /old
    cd "$home/the course"
    if [ $# -gt 0 ]; then
        exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM="${TERM:-dumb}" "$@"
    fi
    exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin ${TEST_SEED:+TEST_SEED="$TEST_SEED"} sh /inside.sh
' fresh "$@"

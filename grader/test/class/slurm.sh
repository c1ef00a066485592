#!/bin/sh
# slurm.sh: a Slurm cluster of one node, this machine, on the loopback device; for tests, as root.
# usage: slurm.sh start DIR    starts munged, slurmctld and slurmd with all their files in DIR; then
#                              SLURM_CONF=DIR/slurm.conf is what sbatch needs
#        slurm.sh stop DIR
set -eu
dir=$2
conf=$dir/slurm.conf
stop() {
    for daemon in slurmd slurmctld munged; do
        [ ! -s "$dir/$daemon.pid" ] || kill "$(cat "$dir/$daemon.pid")" 2>/dev/null || true
    done
}
[ "$1" = start ] || {
    stop
    exit
}
mkdir -p "$dir/state" "$dir/spool"
head -c 1024 /dev/urandom >"$dir/munge.key"
chmod 600 "$dir/munge.key"
host=$(hostname -s)
cat >"$conf" <<CONF
ClusterName=course
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CryptoType=crypto/munge
SlurmctldPort=17817
SlurmdPort=17818
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=10
MinJobAge=5
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=course Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
CONF
# munged refuses a folder of root's own, because of who else may write there.
munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/munged.log" --seed-file="$dir/munge.seed"
slurmctld -f "$conf"
slurmd -f "$conf" -N "$host" || slurmd -f "$conf"
export SLURM_CONF="$conf"
i=0
until sinfo --noheader --format=%T 2>/dev/null | grep -qx idle; do
    i=$((i + 1))
    [ $i -lt 30 ] || {
        tail -n 5 "$dir"/*.log >&2
        stop
        exit 1
    }
    sleep 1
done

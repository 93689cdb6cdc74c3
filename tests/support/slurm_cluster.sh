#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A Slurm cluster of two nodes on this machine's loopback interface, for tests. Needs root, slurm-wlm and munge.
#   slurm_cluster.sh start DIR   keeps all its files in DIR; DIR/slurm.conf is what SLURM_CONF must name
#   slurm_cluster.sh stop DIR    ends what start began
set -euo pipefail
action=$1 dir=$2
pids=$dir/pids

stop_all() {
  local pid
  [ -f "$pids" ] || return 0
  while read -r pid; do kill "$pid" 2>/dev/null || true; done < <(tac "$pids")
  while read -r pid; do
    for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -KILL "$pid" 2>/dev/null || true
  done <"$pids"
  rm -f "$pids"
}

# in_background NAME COMMAND…
in_background() {
  local name=$1
  shift
  "$@" >"$dir/log/$name.out" 2>&1 </dev/null &
  echo $! >>"$pids"
}

# Three ports that are free now.
free_ports() {
  python3 -c '
import socket
sockets = [socket.socket() for _ in range(3)]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in sockets))'
}

start_all() {
  local host controller_port first_port second_port
  host=$(hostname -s)
  read -r controller_port first_port second_port < <(free_ports)
  mkdir -p "$dir"/{log,state,munge}
  chmod 755 "$dir"
  head -c 1024 /dev/urandom >"$dir/munge.key"
  chown -R munge "$dir/munge" "$dir/munge.key"
  chmod 400 "$dir/munge.key"
  in_background munged setpriv --reuid=munge --regid=munge --clear-groups \
    munged --foreground --force --key-file="$dir/munge.key" --socket="$dir/munge/socket" \
    --pid-file="$dir/munge/pid" --seed-file="$dir/munge/seed" --log-file="$dir/munge/log"
  cat >"$dir/slurm.conf" <<CONF
ClusterName=loopback
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller_port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
StateSaveLocation=$dir/state
SlurmctldPidFile=$dir/slurmctld.pid
SlurmctldLogFile=$dir/log/slurmctld
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmdSpoolDir=$dir/spool-%n
SlurmdLogFile=$dir/log/slurmd-%n
SlurmdParameters=config_overrides
TaskPlugin=task/none
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
KillWait=5
SchedulerParameters=sched_interval=1
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$first_port CPUs=4
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$second_port CPUs=4
PartitionName=test Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
CONF
  export SLURM_CONF=$dir/slurm.conf
  for _ in $(seq 50); do [ -S "$dir/munge/socket" ] && break; sleep 0.1; done
  in_background slurmctld slurmctld -D
  in_background slurmd-n1 slurmd -D -N n1
  in_background slurmd-n2 slurmd -D -N n2
  for _ in $(seq 150); do
    [ "$(sinfo -h -o '%T %D' 2>/dev/null)" = 'idle 2' ] && return 0
    sleep 0.2
  done
  sinfo >&2 || true
  tail -n 20 "$dir"/log/* >&2
  stop_all
  return 1
}

case $action in
  start) start_all ;;
  stop) stop_all ;;
  *) exit 2 ;;
esac

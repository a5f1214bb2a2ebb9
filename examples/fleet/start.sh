#!/bin/bash
# Starts etcd and three simulated routers of a fleet, until Ctrl-C. Nothing of this machine is changed. BIN is the
# directory with the programs, and ETCD_PORT the port of etcd; the next port is used as well.
set -eu
bin=$(realpath "${BIN:-bin}")
port=${ETCD_PORT:-22379}
dir=$(mktemp -d)
etcd=http://127.0.0.1:$port
peer=http://127.0.0.1:$((port + 1))
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$dir"' EXIT
trap 'exit 0' INT TERM

ETCD_UNSUPPORTED_ARCH=$(uname -m | sed 's/aarch64/arm64/') etcd --name fleet --data-dir "$dir/etcd" --log-level error \
	--listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
	--listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "fleet=$peer" &
for label in edge-1 edge-2 edge-3; do
	mkdir "$dir/$label"
	echo "endpoints: ['127.0.0.1:$port']" >"$dir/$label/etcd.conf"
	echo "fleet: default" >"$dir/$label/fleet.conf"
	echo "state-dir: $dir/$label/state" >"$dir/$label/kvscheduler.conf"
	"$bin/vpp-agent" --simulate --simulate-links eth1,eth2,ens3,ens4 --microservice-label "$label" --config-dir "$dir/$label" \
		--http-port 0 --grpc-port 0 >"$dir/$label/log" 2>&1 &
done
echo "etcd and three routers run; in another terminal: export ETCD_ENDPOINTS=127.0.0.1:$port"
wait

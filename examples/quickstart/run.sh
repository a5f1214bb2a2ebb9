#!/usr/bin/env bash
# Starts the agent with the quickstart and prints what to try. "make run" calls it
# when the programs are built. Ctrl-C stops the agent, which then removes what it
# has configured.
#
# VPP: the program $VPP_BIN, which is started and stopped; else the VPP that
# listens on $VPP_SOCKET. With either, Linux is real: the agent creates network
# namespaces and links on this machine. A socket that a dead VPP left behind does
# not count.
#
# Without a VPP both VPP and Linux are simulated: nothing on this machine changes.
# SIMULATE=vpp simulates VPP alone, whether there is a VPP or not, and creates the
# namespaces and links on this machine; SIMULATE=all simulates both.
set -u
cd "$(dirname "$0")/../.."
socket=${VPP_SOCKET:-/run/vpp/api.sock}
port=${HTTP_PORT:-9191}
simulate=${SIMULATE:-}
unset SIMULATE # the command line says it
case $simulate in true | 1) simulate=all ;; none | false | 0) simulate= ;; esac

if [ -n "$simulate" ]; then
	which="a simulated VPP" vpp=("--simulate=$simulate")
elif [ -n "${VPP_BIN:-}" ]; then
	which="the VPP that is $VPP_BIN" vpp=(--start-vpp "$VPP_BIN")
elif [ ! -S "$socket" ]; then
	which="a simulated VPP, as there is no VPP here" vpp=(--simulate) simulate=all
elif why=$(go run ./examples/quickstart/socketcheck "$socket" 2>/dev/null); then
	which="the VPP that listens on $socket" vpp=()
else
	echo "$socket is not used: ${why:-the connection could not be tested}. VPP is simulated instead; for a real one
start VPP, or name another socket (VPP_SOCKET) or the program to start (VPP_BIN)."
	which="a simulated VPP, as the one on $socket does not answer" vpp=(--simulate) simulate=all
fi

# what_exists says what the agent created, and where.
what_exists() {
	if [ "$simulate" = all ]; then
		cat <<TEXT
The agent runs with $which, and with a simulated Linux: nothing on this
machine was changed. The two network namespaces (qs-red, qs-blue), the cables and
the bridge domain of examples/quickstart/network.yaml exist inside the agent only.
With a real VPP (VPP_BIN=/usr/bin/vpp make run) or with SIMULATE=vpp make run the
namespaces and cables are created on this machine.
TEXT
	elif [ "$(id -u)" = 0 ]; then
		cat <<TEXT
The agent runs with $which, and with the Linux of this machine.
It created two network namespaces (qs-red, qs-blue), a cable from each to VPP, and in
VPP a bridge domain between them, as examples/quickstart/network.yaml says.
TEXT
	else
		cat <<TEXT
The agent runs with $which, and with the Linux of this machine, but
not as root: it cannot create the namespaces and cables, and created the rest of what
examples/quickstart/network.yaml says.
TEXT
	fi
}

# print_hints prints what to try beside the agent, when it is ready.
print_hints() {
	if ! ./bin/agentctl --http-port "$port" --timeout 20s status --wait >/dev/null 2>&1; then
		[ -n "$simulate" ] || echo "VPP does not answer, see \"bin/agentctl status\". The agent keeps trying."
		return
	fi
	sleep 0.5 # the last values are on their way
	echo
	echo ----------------------------------------------------------------------------
	what_exists
	cat <<TEXT
Try, in another terminal:

  bin/agentctl values                       the state of all there is
  bin/agentctl why vpp.l2.bridge-domain/bd1 what something stands on or waits for
  edit examples/quickstart/network.yaml     and look at the values again
TEXT
	if [ -n "$simulate" ]; then
		echo "  bin/agentctl vpp cli show version         the simulator; it forwards no packets, so no ping"
	else
		echo "  ip netns exec qs-red ping 10.10.0.2       through the bridge domain"
		echo "  ip netns exec qs-red ping 10.20.0.1       routed by VPP"
		echo "  bin/agentctl vpp cli show l2fib verbose   VPP's own view"
	fi
	[ "$simulate" = all ] || [ "$(id -u)" = 0 ] || echo "  bin/agentctl values 'linux.*'             why the namespaces and cables fail"
	cat <<TEXT
  http://127.0.0.1:$port/                    all of it in a browser

Ctrl-C stops the agent and removes what it created.
----------------------------------------------------------------------------
TEXT
}
# A program that answers on the port already is not the agent that is started now,
# which will report the conflict.
(: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || print_hints &

# The label marks what the agent creates as the quickstart's, so that it is never
# taken for the work of another agent on this machine.
exec ./bin/vpp-agent --config-dir examples/quickstart/config --http-port "$port" --microservice-label quickstart \
	--cleanup-on-exit ${vpp[@]+"${vpp[@]}"}

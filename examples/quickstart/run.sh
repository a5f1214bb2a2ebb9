#!/usr/bin/env bash
# Starts the agent with the quickstart and tells what to try. "make run" calls it
# when the programs are built. Ctrl-C ends the agent, which then removes what it
# has configured.
#
# VPP: the one that is the file $VPP_BIN, which is started and stopped; else one
# that listens on $VPP_SOCKET; else a simulated one, which forwards no packets. A
# socket that was left over by a VPP that is gone counts for nothing.
set -u
cd "$(dirname "$0")/../.."
socket=${VPP_SOCKET:-/run/vpp/api.sock}
port=${HTTP_PORT:-9191}

if [ -n "${VPP_BIN:-}" ]; then
	which="the VPP that is $VPP_BIN" vpp=(--start-vpp "$VPP_BIN")
elif [ ! -S "$socket" ]; then
	which="a simulated VPP, as there is no VPP here" vpp=(--simulate)
elif why=$(go run ./examples/quickstart/listens "$socket" 2>/dev/null); then
	which="the VPP that listens on $socket" vpp=()
else
	echo "$socket is not used: ${why:-it cannot be tried out}. VPP is simulated instead; for a real one
start VPP, or name another socket (VPP_SOCKET) or the program to start (VPP_BIN)."
	which="a simulated VPP, as the one on $socket does not answer" vpp=(--simulate)
fi

# Told beside the agent, when it is ready; ends with it.
tell() {
	if ! ./bin/agentctl --http-port "$port" --timeout 20s status --wait >/dev/null 2>&1; then
		[ "$1" = simulated ] || echo "VPP does not answer, see \"bin/agentctl status\". The agent goes on trying."
		return
	fi
	sleep 0.5 # the last values are on their way
	local made="It made two network namespaces (qs-red, qs-blue), a cable from each to VPP,
and in VPP a bridge domain between them, as examples/quickstart/network.yaml"
	[ "$(id -u)" = 0 ] || made="It is not run by root: it cannot make the namespaces and cables, and made the rest
of what examples/quickstart/network.yaml"
	cat <<TEXT

----------------------------------------------------------------------------
The agent runs with $which.
$made
asks for. Try, in another terminal:

  bin/agentctl values                       the state of all there is
  bin/agentctl why vpp.l2.bridge-domain/bd1 what something stands on or waits for
  edit examples/quickstart/network.yaml     and look at the values again
TEXT
	if [ "$1" = simulated ]; then
		echo "  bin/agentctl vpp cli show version         the simulator; it forwards no packets, so no ping"
	else
		echo "  ip netns exec qs-red ping 10.10.0.2       through the bridge domain"
		echo "  ip netns exec qs-red ping 10.20.0.1       routed by VPP"
		echo "  bin/agentctl vpp cli show l2fib verbose   VPP's own view"
	fi
	[ "$(id -u)" = 0 ] || echo "  bin/agentctl values 'linux.*'             why the namespaces and cables fail"
	cat <<TEXT
  http://127.0.0.1:$port/                    all of it in a browser

Ctrl-C ends the agent and removes what it made.
----------------------------------------------------------------------------
TEXT
}
# Who answers there already is not the agent that is started now, which will say so.
(: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null ||
	case "${vpp[*]-}" in *--simulate*) tell simulated & ;; *) tell real & ;; esac

exec ./bin/vpp-agent --config-dir examples/quickstart/config --http-port "$port" --cleanup-on-exit ${vpp[@]+"${vpp[@]}"}

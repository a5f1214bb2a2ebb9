package main

import (
	"flag"
	"slices"
	"syscall"
	"testing"
	"time"
)

var agentChaos = flag.Int("agent-chaos", 3, "rounds of the trial in which VPP and etcd fail, too")

// fault is what fails besides the agent: begin, and end, which may be nil.
type fault struct {
	name       string
	begin, end func()
}

func (tr *trial) faults() []fault {
	vpp := []string{"if ", "bd ", "fib ", "route ", "arp ", "table ", "bvi-fib "}
	list := []fault{
		{"VPP hangs", func() { tr.signal(syscall.SIGSTOP) }, func() { tr.signal(syscall.SIGCONT) }},
		{"VPP dies", func() { tr.forget(vpp...); tr.sim.ask("die") }, func() { tr.sim.ask("restart") }},
		{"VPP restarts", func() { tr.forget(vpp...); tr.sim.ask("restart") }, nil},
		{"VPP disconnects", func() { tr.sim.ask("disconnect") }, nil},
	}
	s := tr.sources
	if s.server == nil {
		return list
	}
	var resume func()
	return append(list,
		fault{"etcd restarts", func() { s.server.Restart(tr.t) }, nil},
		fault{"etcd stops", s.server.Stop, func() { s.server.Start(tr.t) }},
		fault{"etcd hangs", func() { resume = s.server.Pause(tr.t) }, func() { resume() }},
		fault{"etcd cannot be reached", func() { resume = s.server.Partition(tr.t) }, func() { resume() }},
		fault{"etcd breaks connections", s.server.Proxy.Cut, nil},
		fault{"etcd compacts", s.compact, nil},
		fault{"etcd loses its data", tr.lose, nil},
	)
}

func (tr *trial) signal(s syscall.Signal) {
	if err := syscall.Kill(tr.sim.pid, s); err != nil {
		tr.t.Fatal(err)
	}
}

// lose has etcd lose its data. Nothing is removed: the operator either has the data
// brought back, or accepts that the groups in etcd are not desired until the next change.
func (tr *trial) lose() {
	tr.sources.lose()
	if tr.rnd.IntN(2) == 0 {
		tr.say("  to be restored")
		tr.lost = true
		return
	}
	variants := slices.Clone(tr.network.variants)
	for n := range variants {
		if tr.sources.ofEtcd(n) {
			variants[n] = 0
		}
	}
	tr.look()
	tr.network = newNetwork(variants, tr.network.names)
	tr.stillRight()
}

// fault has something fail for a while, in which the agent may be killed. Another one may be
// started before the fault ends.
func (tr *trial) fault() {
	list := tr.faults()
	f := list[tr.rnd.IntN(len(list))]
	tr.say("%s", f.name)
	f.begin()
	killed, started := tr.rnd.IntN(3) == 0, false
	if f.end != nil || killed {
		tr.pause(time.Duration(1+tr.rnd.IntN(4)) * 500 * time.Millisecond)
	}
	if killed {
		tr.say("killed meanwhile")
		tr.agent.end()
		tr.kills++
		if started = f.end != nil && tr.rnd.IntN(2) == 0; started {
			tr.say("started meanwhile")
			tr.start()
			tr.pause(time.Second)
		}
	}
	if f.end != nil {
		f.end()
	}
	if killed && !started {
		tr.start()
	}
}

// chaos is a round in which everything may fail, several times.
func (tr *trial) chaos() {
	for range 1 + tr.rnd.IntN(3) {
		if tr.rnd.IntN(3) > 0 {
			tr.change()
		}
		switch moments := tr.moments(false); tr.rnd.IntN(3) {
		case 0:
			tr.kill(moments[tr.rnd.IntN(len(moments))])
			tr.restart()
		case 1:
			tr.pause(tr.usual)
			tr.fault()
		default:
			tr.fault()
		}
	}
	tr.settle()
}

// VPP, etcd and the agent fail in any order, while the configuration changes. In the end
// the southbounds have what the sources then ask for.
func TestChaos(t *testing.T) {
	series(t, "rounds", *agentChaos, (*trial).chaos, func(tr *trial) int { return len(tr.took) - 1 })
}

//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package vpptest_test

import (
	"fmt"
	"maps"
	"testing"

	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// VPP stalls at each message by which an interface is created, re-created and removed,
// and the agent is killed meanwhile. What the messages did, before and after that, is
// found out from what was on record.
func TestKilledAtEachMessage(t *testing.T) {
	t.Parallel()
	for _, i := range catalogue.All() {
		if i.Model() != ifmodel.InterfaceModel.Spec().ModelName() {
			continue
		}
		for n, c := range i.Recreates {
			t.Run(fmt.Sprintf("%s %d", i.Name, n), func(t *testing.T) {
				t.Parallel()
				s := newStalls(t, 1)
				before, after := catalogue.Values(i.Make()), catalogue.Values(i.Changed(c))
				s.commit(i.Needed())
				s.settle()
				for at := range 18 {
					s.story = append(s.story[:0], fmt.Sprintf("killed at message %d, late %t", at/2+1, at%2 == 1))
					for _, step := range []values{before, after, deleted(after)} {
						s.killAt(hangs{at: map[string]int{"": at/2 + 1}, late: at%2 == 1}, step, after)
					}
				}
			})
		}
	}
}

// The agent is killed while VPP re-creates a memif with another ring size, which VPP does
// not report, and the change is undone: the memif is re-created, whatever it is.
func TestKilledBeforeUntold(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"before the effect": false, "after the effect": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStalls(t, 1)
			before, after := memif("m", 1, "x.sock"), memif("m", 1, "x.sock")
			after.GetMemif().RingSize = 512
			s.commit(of(before))
			s.settle()
			created := func() uint64 { return s.sim.Sim.Count(newest(t, s.sim, "memif_create_v2", "memif_create")) }
			s.killAt(hangs{at: map[string]int{newest(t, s.sim, "memif_create_v2", "memif_create"): 1}, late: late}, of(after), of(before))
			if n := created(); n != 3 {
				t.Errorf("the memif was created %d times, expected 3: first, with the other ring size, and again", n)
			}
		})
	}
}

// killAt makes a change while the simulator stalls and the agent is killed. If the change
// is undone by the next one, the agent is to know at once.
func (s *stalls) killAt(at hangs, change, next values) {
	s.mu.Lock()
	s.kill = s.t.TempDir()
	kill := s.kill
	s.mu.Unlock()
	s.arm(at)
	s.commit(change)
	if s.disarm() {
		maps.Copy(s.wanted, next)
		s.restart(kill)
	}
	s.settle()
}

// A table that was chosen for addresses is given up with them, although nothing that is
// read of an interface without addresses reports its table. VPP stalls at each message.
func TestStallInTable(t *testing.T) {
	t.Parallel()
	with := func(addrs ...string) values {
		all := of(&l3.VrfTable{Id: 1, Label: "one"})
		for n, name := range []string{"a", "b", "c"} {
			i := loop(name)
			for _, addr := range addrs {
				i.IpAddresses = append(i.IpAddresses, fmt.Sprintf(addr, n))
			}
			i.Vrf = 1
			maps.Copy(all, of(i))
		}
		return all
	}
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%t", restart), func(t *testing.T) {
			t.Parallel()
			s := newStalls(t, 1)
			for at := range 40 {
				s.story = append(s.story[:0], fmt.Sprintf("stall at message %d, late %t", at/2+1, at%2 == 1))
				s.arm(hangs{at: map[string]int{"": at/2 + 1}, late: at%2 == 1})
				s.commit(with("10.0.%d.1/24"))
				switch hung := s.disarm(); {
				case hung && restart:
					maps.Copy(s.wanted, with())
					s.restart("")
				case hung:
					s.commit(with())
					s.resume <- struct{}{}
				}
				s.settle()
				s.commit(deleted(with()))
				s.settle()
			}
		})
	}
}

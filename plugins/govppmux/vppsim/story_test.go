package vppsim_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l2"
)

// TestStaleFIBEntry is the story that explains why order matters: remove the
// interface first, then the bridge domain, and the L2 FIB entry can no longer be
// removed.
func TestStaleFIBEntry(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	c := dial(t, socket)
	mac := ethernet_types.MacAddress{0x52, 0x54, 0, 0x53, 0x18, 0x57}
	entry := func(add bool, out interface_types.InterfaceIndex) int32 {
		return call[l2.L2fibAddDelReply](c, &l2.L2fibAddDel{Mac: mac, BdID: 1, SwIfIndex: out, IsAdd: add}).Retval
	}
	domain := func(add bool) int32 {
		return call[l2.BridgeDomainAddDelReply](c, &l2.BridgeDomainAddDel{BdID: 1, IsAdd: add, Forward: true, Learn: true}).Retval
	}
	loop := call[interfaces.CreateLoopbackReply](c, &interfaces.CreateLoopback{}).SwIfIndex
	if rv := domain(true); rv != 0 {
		t.Fatalf("create the bridge domain: %d", rv)
	}
	if rv := call[l2.SwInterfaceSetL2BridgeReply](c, &l2.SwInterfaceSetL2Bridge{RxSwIfIndex: loop, BdID: 1, Enable: true}).Retval; rv != 0 {
		t.Fatalf("bridge the interface: %d", rv)
	}
	if rv := entry(true, loop); rv != 0 {
		t.Fatalf("add the entry: %d", rv)
	}
	if rv := domain(false); rv != int32(api.BD_IN_USE) {
		t.Errorf("delete a bridge domain with a member: %d", rv)
	}
	if rv := call[interfaces.DeleteLoopbackReply](c, &interfaces.DeleteLoopback{SwIfIndex: loop}).Retval; rv != 0 {
		t.Fatalf("delete the interface: %d", rv)
	}
	if !strings.Contains(vpp.Dump(), "l2fib 52:54:00:53:18:57 in 1 to 1 (deleted)\n") {
		t.Errorf("the entry is not stale:\n%s", vpp.Dump())
	}
	if rv := domain(false); rv != 0 {
		t.Fatalf("delete the bridge domain: %d", rv)
	}
	if rv := entry(false, loop); rv != int32(api.NO_SUCH_ENTRY) {
		t.Errorf("delete the entry: %d, expected to hear that there is no such bridge domain", rv)
	}
	if !strings.Contains(vpp.Dump(), "l2fib 52:54:00:53:18:57 in (deleted) to 1 (deleted)\n") {
		t.Errorf("the entry is not stale:\n%s", vpp.Dump())
	}
	if rv := domain(true); rv != 0 {
		t.Fatalf("create the bridge domain again: %d", rv)
	}
	if rv := entry(false, loop); rv != 0 {
		t.Errorf("delete the entry now: %d", rv)
	}
}

func TestDumpIsCanonical(t *testing.T) {
	t.Parallel()
	texts := make([]string, 2)
	for at, order := range [][]string{{"10.0.0.1/24", "10.0.1.1/24"}, {"10.0.1.1/24", "10.0.0.1/24"}} {
		vpp, socket := startSimulator(t, vppsim.Options{})
		c := dial(t, socket)
		runScript(t, c, `> create_loopback
> sw_interface_set_flags {"sw_if_index":1,"flags":1}
> ip_table_add_del {"is_add":true,"table":{"table_id":7,"name":"blue"}}
> ip_route_add_del {"is_add":true,"route":{"table_id":7,"prefix":"20.0.0.0/24","paths":[{"sw_if_index":1,"weight":3,"nh":"10.0.0.9"}]}}
> ip_neighbor_add_del {"is_add":true,"neighbor":{"sw_if_index":1,"flags":1,"mac_address":"02:00:00:00:00:11","ip_address":"10.0.0.11"}}`)
		for _, address := range order {
			runScript(t, c, `> sw_interface_add_del_address {"is_add":true,"sw_if_index":1,"prefix":"`+address+`"}`)
		}
		texts[at] = vpp.Dump()
	}
	want := `interface 0 local0 local mtu 0/0/0/0
interface 1 loop0 Loopback admin-up link-up mac de:ad:00:00:00:00 mtu 9000/0/0/0
  address 10.0.0.1/24
  address 10.0.1.1/24
ip4 table 7 "blue"
ip4 route 20.0.0.0/24 in 7 [10.0.0.9 if 1 weight 3]
neighbor 10.0.0.11 at 02:00:00:00:00:11 on 1 static
`
	for _, text := range texts {
		if text != want {
			t.Errorf("got:\n%s\nwant:\n%s", text, want)
		}
	}
}

package binapi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/lcp"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/vlib"
	"go.fd.io/govpp/binapi/vpe"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
)

// dialReal starts a VPP and connects to it.
func dialReal(t *testing.T) (*realvpptest.VPP, *Conn) {
	t.Helper()
	vpp := realvpptest.Start(t)
	c, err := Dial(patient(t), Options{Socket: vpp.Socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return vpp, c
}

// TestRealVPP does with a real VPP what the other tests do with a script.
func TestRealVPP(t *testing.T) {
	t.Parallel()
	vpp, c := dialReal(t)
	ctx := patient(t)
	version := &vpe.ShowVersionReply{}
	if err := c.Call(ctx, &vpe.ShowVersion{}, version); err != nil {
		t.Fatal(err)
	}
	t.Logf("VPP %s, %d messages", version.Version, c.Table().Len())
	cli := &vlib.CliInbandReply{}
	if err := c.Call(ctx, &vlib.CliInband{Cmd: "show version"}, cli); err != nil || !strings.Contains(cli.Reply, version.Version) {
		t.Errorf("show version: %q, %v", cli.Reply, err)
	}
	bad := &interfaces.SwInterfaceSetFlags{SwIfIndex: 12345}
	if err := c.Call(ctx, bad, &interfaces.SwInterfaceSetFlagsReply{}); !errors.Is(err, api.INVALID_SW_IF_INDEX) {
		t.Errorf("interface that does not exist: %v", err)
	}
	t.Run("events", func(t *testing.T) { realEvents(t, c) })
	t.Run("routes", func(t *testing.T) { realRoutes(t, c) })
	t.Run("large reply", func(t *testing.T) { realSchema(t, c) })
	t.Run("cursor", func(t *testing.T) {
		if !c.Has(&lcp.LcpItfPairGetV2{}) {
			t.Skip("NOT CHECKED: this VPP has no linux-cp plugin")
		}
		_, err := Cursor[*lcp.LcpItfPairDetails](ctx, c, &lcp.LcpItfPairGetV2{SwIfIndex: ^interface_types.InterfaceIndex(0)}, &lcp.LcpItfPairGetV2Reply{})
		if err != nil {
			t.Error(err)
		}
	})
	f := c.Send(ctx, &vlib.CliInband{Cmd: "wait 100"}, &vlib.CliInbandReply{})
	vpp.Kill()
	<-c.Done()
	if err := f.Wait(); err != nil && !errors.Is(err, ErrDisconnected) {
		t.Errorf("request pending when VPP was killed: %v", err)
	}
	if err := c.Invoke(ctx, &memclnt.ControlPing{}, &memclnt.ControlPingReply{}); !errors.Is(err, ErrDisconnected) {
		t.Errorf("request afterwards: %v", err)
	}
}

func realEvents(t *testing.T, c *Conn) {
	ctx := patient(t)
	w, err := c.WatchEvent(ctx, &interfaces.SwInterfaceEvent{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := c.Call(ctx, &interfaces.WantInterfaceEvents{EnableDisable: 1}, &interfaces.WantInterfaceEventsReply{}); err != nil {
		t.Fatal(err)
	}
	loop := &interfaces.CreateLoopbackReply{}
	if err := c.Call(ctx, &interfaces.CreateLoopback{}, loop); err != nil {
		t.Fatal(err)
	}
	up := &interfaces.SwInterfaceSetFlags{SwIfIndex: loop.SwIfIndex, Flags: 1}
	if err := c.Call(ctx, up, &interfaces.SwInterfaceSetFlagsReply{}); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-w.Events():
		if e.(*interfaces.SwInterfaceEvent).SwIfIndex != loop.SwIfIndex {
			t.Errorf("event %+v, want one of interface %d", e, loop.SwIfIndex)
		}
	case <-ctx.Done():
		t.Error("no event")
	}
}

// realRoutes adds routes without waiting for each other and counts them.
func realRoutes(t *testing.T, c *Conn) {
	const n = 5000
	ctx := patient(t)
	var futures []Future
	for i := range n {
		futures = append(futures, c.Send(ctx, hostRoute(i), &ip.IPRouteAddDelReply{}))
	}
	for i, f := range futures {
		if err := f.Result(); err != nil {
			t.Fatalf("route %d: %v", i, err)
		}
	}
	routes, err := Dump[*ip.IPRouteV2Details](ctx, c, &ip.IPRouteV2Dump{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range routes {
		seen[r.Route.Prefix.String()] = true
	}
	for i := range n {
		if want := fmt.Sprintf("10.0.%d.%d/32", i>>8, i&255); !seen[want] {
			t.Fatalf("route %s is missing among %d", want, len(routes))
		}
	}
}

func hostRoute(i int) *ip.IPRouteAddDel {
	var a ip_types.IP4Address
	binary.BigEndian.PutUint32(a[:], 10<<24|uint32(i))
	r := &ip.IPRouteAddDel{IsAdd: true, Route: ip.IPRoute{
		NPaths: 1, Paths: []fib_types.FibPath{{Type: fib_types.FIB_API_PATH_TYPE_DROP, SwIfIndex: ^uint32(0), Weight: 1}},
		Prefix: ip_types.Prefix{Address: ip_types.Address{Af: ip_types.ADDRESS_IP4}, Len: 32},
	}}
	r.Route.Prefix.Address.Un.SetIP4(a)
	return r
}

// realSchema reads the largest message there is.
func realSchema(t *testing.T, c *Conn) {
	if !c.Has(&memclnt.GetAPIJSON{}) {
		t.Skip("NOT CHECKED: this VPP is too old for get_api_json")
	}
	reply := &memclnt.GetAPIJSONReply{}
	if err := c.Call(patient(t), &memclnt.GetAPIJSON{}, reply); err != nil {
		t.Fatal(err)
	}
	if len(reply.JSON) < readSize || !strings.HasSuffix(strings.TrimSpace(reply.JSON), "]") {
		t.Errorf("schema of %d bytes", len(reply.JSON))
	}
}

// A client that is killed after VPP had to wait for it stays in VPP's list. Reap removes it.
func TestReap(t *testing.T) {
	t.Parallel()
	vpp, c := dialReal(t)
	ctx := patient(t)
	listed := func() bool {
		cli := &vlib.CliInbandReply{}
		if err := c.Call(ctx, &vlib.CliInband{Cmd: "show api clients"}, cli); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(cli.Reply, "killed")
	}
	slowClient(t, vpp.Socket, "killed")
	for range 100 { // VPP has read the end of the file by then
		listed()
	}
	t.Logf("still listed: %t", listed())
	c.Reap(ctx)
	for listed() {
		if ctx.Err() != nil {
			t.Fatal("the client is still listed")
		}
	}
}

// slowClient connects to VPP, lets it wait with its answers, reads them all, and ends without a word.
func slowClient(t *testing.T, socket, name string) {
	t.Helper()
	nc, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	fr := newFrameReader(nc, 1<<20)
	index, entries, err := handshake(nc, fr, name)
	if err != nil {
		t.Fatal(err)
	}
	const size, requests = 10, 20000 // show_version: u16 id, u32 client_index, u32 context
	request := make([]byte, frameHeader+size)
	putFrameHeader(request, size)
	payload := request[frameHeader:]
	version := &vpe.ShowVersion{}
	binary.BigEndian.PutUint16(payload, entries[version.GetMessageName()+"_"+version.GetCrcString()])
	binary.BigEndian.PutUint32(payload[2:], index)
	if _, err := nc.Write(bytes.Repeat(request, requests)); err != nil {
		t.Fatal(err)
	}
	for range requests {
		if _, err := fr.next(); err != nil {
			t.Fatal(err)
		}
	}
}

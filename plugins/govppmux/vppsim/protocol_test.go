package vppsim_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/vlib"
	"go.fd.io/govpp/binapi/vpe"
)

func TestHandshakeTable(t *testing.T) {
	t.Parallel()
	_, socket := startSimulator(t, vppsim.Options{})
	c := dial(t, socket)
	for nameCRC, id := range map[string]uint16{
		"sockclnt_create_455fb9c4": 15, "control_ping_51077d14": 23, "control_ping_reply_f6b0b8ca": 24,
	} {
		if c.ids[nameCRC] != id {
			t.Errorf("%s has id %d, expected %d", nameCRC, c.ids[nameCRC], id)
		}
	}
	if c.index != 0x80000001 {
		t.Errorf("first client index %#x", c.index)
	}
	if second := dial(t, socket); second.index != 0x80000002 {
		t.Errorf("second client index %#x", second.index)
	}
	ids := make(map[uint16]string)
	for nameCRC, id := range c.ids {
		if other, taken := ids[id]; taken {
			t.Errorf("id %d of %s and %s", id, nameCRC, other)
		}
		ids[id] = nameCRC
	}
}

// TestSilence: what VPP only logs gets no answer, and does not disturb the rest.
func TestSilence(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	c := dial(t, socket)
	create := c.encode(&interfaces.CreateLoopback{}, 77)
	foreign := append([]byte(nil), create...)
	binary.BigEndian.PutUint32(foreign[2:], c.index+1)
	unknown := append([]byte(nil), create...)
	binary.BigEndian.PutUint16(unknown, 65000)
	reply := c.encode(&interfaces.CreateLoopbackReply{}, 77)
	for name, payload := range map[string][]byte{
		"empty": {}, "one byte": {1}, "id only": create[:2], "header cut off": create[:9],
		"body cut off": create[:12], "foreign client": foreign, "unknown id": unknown, "a reply": reply,
		"an event": c.encode(&interfaces.SwInterfaceEvent{}, 77),
	} {
		c.write(payload)
		if got := c.exchange(&memclnt.ControlPing{}); len(got) != 1 {
			t.Errorf("%s: answered %v", name, got)
		}
	}
	if strings.Contains(vpp.Dump(), "loop0") {
		t.Error("a malformed request took effect")
	}
}

func TestRequestsBeforeHandshakeAreIgnored(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	c := dial(t, socket)
	raw, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	early := &client{t: t, conn: raw, index: 0, ids: c.ids}
	early.write(early.encode(&interfaces.CreateLoopback{}, 1))
	late := dial(t, socket)
	late.exchange(&memclnt.ControlPing{})
	if vpp.Count("create_loopback") != 0 {
		t.Error("a request without a handshake was counted")
	}
}

// TestSplitAndMergedFrames sends many requests in pieces of odd sizes.
func TestSplitAndMergedFrames(t *testing.T) {
	t.Parallel()
	_, socket := startSimulator(t, vppsim.Options{})
	c := dial(t, socket)
	const n = 500
	var stream []byte
	for i := range uint32(n) {
		payload := c.encode(&vpe.ShowVersion{}, i+1)
		frame := make([]byte, 16)
		binary.BigEndian.PutUint32(frame[8:], uint32(len(payload)))
		stream = append(append(stream, frame...), payload...)
	}
	for piece := 1; len(stream) > 0; piece = piece*7%4093 + 1 {
		piece = min(piece, len(stream))
		if _, err := c.conn.Write(stream[:piece]); err != nil {
			t.Fatal(err)
		}
		stream = stream[piece:]
	}
	for i := range uint32(n) {
		m, context, err := c.receive()
		if err != nil || context != i+1 {
			t.Fatalf("reply %d: %v with context %d, %v", i+1, m, context, err)
		}
	}
}

func TestOversizedFrameEndsTheConnection(t *testing.T) {
	t.Parallel()
	_, socket := startSimulator(t, vppsim.Options{})
	c := dial(t, socket)
	header := make([]byte, 16)
	binary.BigEndian.PutUint32(header[8:], 1<<30)
	if _, err := c.conn.Write(header); err != nil {
		t.Fatal(err)
	}
	if _, err := c.read(); !ended(err) {
		t.Errorf("the connection lives on: %v", err)
	}
}

// ended says whether an error means that the other side closed the connection.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func TestGoodbye(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	c := dial(t, socket)
	context := c.send(&memclnt.SockclntDelete{Index: c.index})
	m, answered, err := c.receive()
	if err != nil || answered != context {
		t.Fatalf("%v with context %d, %v", m, answered, err)
	}
	if reply, ok := m.(*memclnt.SockclntDeleteReply); !ok || reply.Response != 1 {
		t.Errorf("%T %+v, expected response 1", m, m)
	}
	if _, err := c.read(); !ended(err) {
		t.Errorf("the connection lives on: %v", err)
	}
	if next := dial(t, socket); next.index != c.index || len(vpp.Clients()) != 1 {
		t.Errorf("index %#x after %#x left, clients %#x", next.index, c.index, vpp.Clients())
	}
}

func TestUnimplemented(t *testing.T) {
	t.Parallel()
	_, socket := startSimulator(t, vppsim.Options{})
	c := dial(t, socket)
	if reply := call[ip.IoamEnableReply](c, &ip.IoamEnable{}); reply.Retval != int32(api.UNIMPLEMENTED) {
		t.Errorf("retval %d", reply.Retval)
	}
	if reply := call[vlib.GetF64EndianValueReply](c, &vlib.GetF64EndianValue{}); int32(reply.Retval) != int32(api.UNIMPLEMENTED) {
		t.Errorf("an unsigned retval %d", reply.Retval)
	}
	if got := c.exchange(&ip.IPMrouteDump{}); len(got) != 0 {
		t.Errorf("a dump of something not simulated returned %v", got)
	}
}

func TestReleaseTable(t *testing.T) {
	t.Parallel()
	release := map[string]string{
		"create_loopback": "42bb5d22", "create_loopback_reply": "5383d31f",
		"show_version":     "00000000", // another layout than the bindings'
		"future_thing_set": "12345678", "future_thing_set_reply": "e8d4e804",
	}
	_, socket := startSimulator(t, vppsim.Options{Release: release, Version: "22.10-simulated"})
	c := dial(t, socket)
	if _, known := c.ids["sw_interface_dump_aa610c27"]; known {
		t.Error("a message outside the release is in the table")
	}
	if call[interfaces.CreateLoopbackReply](c, &interfaces.CreateLoopback{}).SwIfIndex != 1 {
		t.Error("a message of the release does not work")
	}
	for _, name := range []string{"future_thing_set_12345678"} {
		payload := binary.BigEndian.AppendUint16(nil, c.ids[name])
		payload = binary.BigEndian.AppendUint32(payload, c.index)
		c.write(binary.BigEndian.AppendUint32(payload, 5))
		got, err := c.read()
		if err != nil || int32(binary.BigEndian.Uint32(got[6:])) != int32(api.UNIMPLEMENTED) || binary.BigEndian.Uint32(got[2:]) != 5 {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
}

// TestSlowReader: a client that does not read holds up neither others nor itself
// for good, and loses nothing.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	_, socket := startSimulator(t, vppsim.Options{})
	slow, brisk := dial(t, socket), dial(t, socket)
	const loops, dumps = 200, 100
	for range loops {
		call[interfaces.CreateLoopbackReply](brisk, &interfaces.CreateLoopback{})
	}
	for range dumps {
		slow.send(&interfaces.SwInterfaceDump{SwIfIndex: 0xffffffff})
	}
	brisk.exchange(&memclnt.ControlPing{})
	ping := slow.send(&memclnt.ControlPing{})
	records := 0
	for {
		_, context, err := slow.receive()
		if err != nil {
			t.Fatal(err)
		}
		if context == ping {
			break
		}
		records++
	}
	if want := dumps * (loops + 1); records != want {
		t.Errorf("%d records, expected %d", records, want)
	}
}

func TestEventsGoToSubscribersUntilTheyLeave(t *testing.T) {
	t.Parallel()
	_, socket := startSimulator(t, vppsim.Options{})
	watcher, other := dial(t, socket), dial(t, socket)
	call[interfaces.WantInterfaceEventsReply](watcher, &interfaces.WantInterfaceEvents{EnableDisable: 1, PID: 9})
	call[interfaces.CreateLoopbackReply](other, &interfaces.CreateLoopback{})
	watcher.exchange(&memclnt.ControlPing{})
	if len(watcher.events) != 1 || watcher.events[0].(*interfaces.SwInterfaceEvent).PID != 9 {
		t.Errorf("the watcher got %v", watcher.events)
	}
	if len(other.events) != 0 {
		t.Errorf("the other got %v", other.events)
	}
	if err := watcher.conn.Close(); err != nil {
		t.Fatal(err)
	}
	call[interfaces.CreateLoopbackReply](other, &interfaces.CreateLoopback{})
}

func TestSocketFile(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	if err := vppsim.New(vppsim.Options{}).ListenUnix(socket); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("listening on a served socket: %v", err)
	}
	if err := vpp.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	plain := filepath.Join(filepath.Dir(socket), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := vppsim.New(vppsim.Options{}).ListenUnix(plain); err == nil {
		t.Error("a plain file was replaced by a socket")
	}
}

func TestServeListener(t *testing.T) {
	t.Parallel()
	vpp := vppsim.New(vppsim.Options{})
	socket := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := vpp.Serve(ln); err != nil {
		t.Fatal(err)
	}
	dial(t, socket).exchange(&memclnt.ControlPing{})
	if err := vpp.Close(); err != nil {
		t.Fatal(err)
	}
	if err := vpp.ListenUnix(socket); err == nil {
		t.Error("a closed simulator listens")
	}
}

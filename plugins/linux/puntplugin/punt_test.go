package puntplugin_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/linux/punt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const configured = kvscheduler.ValueState_CONFIGURED

var left = &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: "left"}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sideOf is a port or the path of a socket.
type sideOf struct {
	port *punt.PortBased
	path string
}

func tcp(port uint32, ns *namespace.NetNamespace) sideOf {
	return sideOf{port: &punt.PortBased{L4Protocol: punt.PortBased_TCP, L3Protocol: punt.PortBased_ALL, Port: port, Namespace: ns}}
}

func udp(port uint32, ns *namespace.NetNamespace) sideOf {
	s := tcp(port, ns)
	s.port.L4Protocol = punt.PortBased_UDP
	return s
}

func proxyOf(name string, from, to sideOf) *punt.Proxy {
	v := &punt.Proxy{Name: name}
	v.Rx, v.Tx = &punt.Proxy_RxPort{RxPort: from.port}, &punt.Proxy_TxPort{TxPort: to.port}
	if from.port == nil {
		v.Rx = &punt.Proxy_RxSocket{RxSocket: &punt.SocketBased{Path: from.path}}
	}
	if to.port == nil {
		v.Tx = &punt.Proxy_TxSocket{TxSocket: &punt.SocketBased{Path: to.path}}
	}
	return v
}

// network returns the network and the address of a side; see netlinkapi.Sockets.
func (s sideOf) network(datagrams bool) (network, address string) {
	switch {
	case s.port == nil && datagrams:
		return "unixgram", s.path
	case s.port == nil:
		return "unix", s.path
	case datagrams:
		return "udp", fmt.Sprintf("127.0.0.1:%d", s.port.GetPort())
	}
	return "tcp", fmt.Sprintf("127.0.0.1:%d", s.port.GetPort())
}

// serve answers all that it receives with the name of the server before it, until the test ends
// or stop is called.
func serve(t *testing.T, h netlinkapi.Handle, name string, at sideOf, datagrams bool) (stop func()) {
	t.Helper()
	network, address := at.network(datagrams)
	var close func() error
	done := make(chan struct{})
	if datagrams {
		c, err := h.ListenPacket(t.Context(), network, address)
		must(t, err)
		close = c.Close
		go func() {
			defer func() { done <- struct{}{} }()
			buffer := make([]byte, 100)
			for {
				n, from, err := c.ReadFrom(buffer)
				if err != nil {
					return
				}
				_, _ = c.WriteTo([]byte(name+": "+string(buffer[:n])), from)
			}
		}()
	} else {
		l, err := h.Listen(t.Context(), network, address)
		must(t, err)
		close = l.Close
		go func() {
			defer func() { done <- struct{}{} }()
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				all, _ := io.ReadAll(c) // until the client has sent everything
				_, _ = c.Write([]byte(name + ": " + string(all)))
				c.Close()
			}
		}()
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = close()
			<-done
		}
	}
	t.Cleanup(stop)
	return stop
}

// ask returns the answer to a text; empty if there is none.
func ask(h netlinkapi.Handle, at sideOf, datagrams bool, text string) string {
	network, address := at.network(datagrams)
	c, err := h.Dial(context.Background(), network, address)
	if err != nil {
		return ""
	}
	defer c.Close()
	if _, err := c.Write([]byte(text)); err != nil {
		return ""
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && !datagrams {
		_ = half.CloseWrite()
		all, _ := io.ReadAll(c)
		return string(all)
	}
	buffer := make([]byte, 100)
	n, err := c.Read(buffer)
	if err != nil {
		return ""
	}
	return string(buffer[:n])
}

// world has the namespaces that the tests use, with addresses that work.
func world(t *testing.T, w *nltest.World) (own, ns netlinkapi.Handle) {
	t.Helper()
	own, ns = w.Open(t, ""), w.Make(t, "left")
	for _, h := range []netlinkapi.Handle{own, ns} {
		must(t, h.SetUp(t.Context(), nltest.MustLink(t, h, "lo").Index, true))
	}
	return own, ns
}

func unchanged(t *testing.T, a *linuxtest.Agent, values ...proto.Message) {
	t.Helper()
	must(t, a.Resync(values...))
	if ops := a.Executed(); len(ops) != 0 {
		t.Errorf("a resync without changes did %v", ops)
	}
}

// TestProxies: each kind of proxy forwards what clients send and the answers, a change of the
// other side takes effect, a restarted agent runs the proxies again, and deletion frees what
// they received on.
func TestProxies(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own, ns := world(t, w)
		dir := t.TempDir()
		path := func(name string) sideOf { return sideOf{path: filepath.Join(dir, name)} }
		type pair struct {
			from, to  sideOf
			datagrams bool
		}
		pairs := map[string]pair{
			"TCP":              {from: tcp(7000, nil), to: tcp(7100, left)},
			"TCP to socket":    {from: tcp(7001, nil), to: path("server1")},
			"socket to TCP":    {from: path("client2"), to: tcp(7102, left)},
			"UDP":              {udp(7003, nil), udp(7103, left), true},
			"UDP to socket":    {udp(7004, nil), path("server4"), true},
			"socket to UDP":    {path("client5"), udp(7105, left), true},
			"socket to socket": {path("client6"), path("server6"), true},
		}
		var values, moved []proto.Message
		for name, p := range pairs {
			values = append(values, proxyOf(name, p.from, p.to))
			server := own
			if p.to.port != nil {
				server = ns
			}
			serve(t, server, name, p.to, p.datagrams)
			other := tcp(7200, nil)
			if p.datagrams {
				other = udp(7200, nil)
			}
			moved = append(moved, proxyOf(name, p.from, other))
		}
		serve(t, own, "other", tcp(7200, nil), false)
		serve(t, own, "other", udp(7200, nil), true)
		check := func(want func(name string) string) {
			t.Helper()
			for name, p := range pairs {
				for _, text := range []string{"one", "two"} {
					if got := ask(own, p.from, p.datagrams, text); got != want(name)+": "+text {
						t.Errorf("%s: the answer is %q, expected one of %s", name, got, want(name))
					}
				}
			}
		}
		self := func(name string) string { return name }
		a := linuxtest.Start(t, w)
		must(t, a.Apply(values...))
		a.Expect(configured, values...)
		check(self)
		unchanged(t, a, values...)
		a.Stop()
		for name, p := range pairs {
			if got := ask(own, p.from, p.datagrams, "x"); got != "" {
				t.Errorf("%s: an agent that ended answers %q", name, got)
			}
		}
		a = linuxtest.Start(t, w)
		must(t, a.Resync(values...))
		check(self)
		must(t, a.Apply(moved...))
		for _, op := range a.Executed() {
			if !strings.HasPrefix(op, "UPDATE ") {
				t.Errorf("a change of the other side did %s", op)
			}
		}
		check(func(string) string { return "other" })
		must(t, a.Delete(moved...))
		for name, p := range pairs {
			serve(t, own, name, p.from, p.datagrams) // is free again
		}
	})
}

// TestInUse: a port that is in use is an error that is retried.
func TestInUse(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own, _ := world(t, w)
		stop := serve(t, own, "other", tcp(7000, nil), false)
		a := linuxtest.Start(t, w)
		v := proxyOf("p", tcp(7000, nil), tcp(7001, nil))
		txn := a.StartNBTransaction()
		txn.SetValue(linuxtest.Key(t, v), v)
		_, err := txn.Commit(t.Context(), api.WithRetry(api.RetryOpts{Period: time.Millisecond}))
		if text := linuxtest.ErrorText(err); !strings.Contains(text, "rx_port") || !strings.Contains(text, ":7000") || !strings.Contains(text, "the address is in use") {
			t.Errorf("the error is %q", text)
		}
		stop()
		a.Quiet("the proxy runs", func() bool { return a.State(linuxtest.Key(t, v)).GetState() == configured })
	})
}

// TestNamespaceDeleted: the proxies in a namespace that another process deletes run again in the
// next one of the name.
func TestNamespaceDeleted(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own, ns := world(t, w)
		serve(t, own, "server", tcp(7100, nil), false)
		a := linuxtest.Start(t, w)
		v := proxyOf("p", tcp(7000, left), tcp(7100, nil))
		must(t, a.Apply(v))
		if got := ask(ns, tcp(7000, nil), false, "one"); got != "server: one" {
			t.Errorf("the answer is %q", got)
		}
		w.Remove(t, "left")
		must(t, a.Resync(v))
		var next netlinkapi.Handle
		a.Quiet("the agent has made the namespace again", func() bool {
			h, err := w.Namespaces.Open(w.Path("left"), netlinkapi.Gate{})
			if err != nil {
				return false
			}
			must(t, h.Close())
			if h.Namespace() == ns.Namespace() || a.State(linuxtest.Key(t, v)).GetState() != configured {
				return false
			}
			next = w.Open(t, "left")
			return true
		})
		must(t, next.SetUp(t.Context(), nltest.MustLink(t, next, "lo").Index, true))
		if got := ask(next, tcp(7000, nil), false, "two"); got != "server: two" {
			t.Errorf("the answer is %q", got)
		}
		if got := ask(ns, tcp(7000, nil), false, "three"); got != "" {
			t.Errorf("the deleted namespace has a proxy, which answers %q", got)
		}
	})
}

// TestLostPath: a socket whose path another process deletes is made again.
func TestLostPath(t *testing.T) {
	t.Parallel()
	w := nltest.Kernel(t)
	own, _ := world(t, w)
	serve(t, own, "server", tcp(7100, nil), false)
	a := linuxtest.Start(t, w)
	from := sideOf{path: filepath.Join(t.TempDir(), "socket")}
	v := proxyOf("p", from, tcp(7100, nil))
	must(t, a.Apply(v))
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: from.path + "2", Net: "unixgram"})
	must(t, err)
	defer c.Close()
	must(t, os.Rename(from.path+"2", from.path))
	txn := a.StartNBTransaction()
	txn.SetValue(linuxtest.Key(t, v), v)
	_, err = txn.Commit(t.Context(), api.WithResync(api.FullResync, true), api.WithRetry(api.RetryOpts{Period: time.Millisecond}))
	if !strings.Contains(linuxtest.ErrorText(err), "the address is in use") {
		t.Errorf("the path belongs to another process: %v", err)
	}
	must(t, os.Rename(from.path, from.path+"2"))
	a.Quiet("the socket is there again", func() bool { return ask(own, from, false, "one") == "server: one" })
}

// TestValidate: errors name the field and the expected value.
func TestValidate(t *testing.T) {
	t.Parallel()
	a := linuxtest.Start(t, nltest.Sim())
	change := func(f func(v *punt.Proxy)) *punt.Proxy {
		v := proxyOf("p", tcp(1, nil), tcp(2, nil))
		f(v)
		return v
	}
	path := func(name string, typ punt.SocketBased_Type) *punt.SocketBased {
		return &punt.SocketBased{Path: name, Type: typ}
	}
	for want, v := range map[string]*punt.Proxy{
		"rx_port: missing":                  change(func(v *punt.Proxy) { v.Rx = nil }),
		"tx_port: missing":                  change(func(v *punt.Proxy) { v.Tx = nil }),
		"rx_port.l4_protocol: UNDEFINED_L4": change(func(v *punt.Proxy) { v.GetRxPort().L4Protocol = 0 }),
		"tx_port.l3_protocol: UNDEFINED_L3": change(func(v *punt.Proxy) { v.GetTxPort().L3Protocol = 0 }),
		"tx_port.l3_protocol: 9":            change(func(v *punt.Proxy) { v.GetTxPort().L3Protocol = 9 }),
		"rx_port.port: 0":                   change(func(v *punt.Proxy) { v.GetRxPort().Port = 0 }),
		"rx_port.port: 65536":               change(func(v *punt.Proxy) { v.GetRxPort().Port = 65536 }),
		`rx_port.ip_address: "x"`:           change(func(v *punt.Proxy) { v.GetRxPort().IpAddress = "x" }),
		"rx_port.ip_address: ::1; expected one of l3_protocol, which is IPV4": change(func(v *punt.Proxy) {
			v.GetRxPort().IpAddress, v.GetRxPort().L3Protocol = "::1", punt.PortBased_IPV4
		}),
		"tx_port.namespace: ": change(func(v *punt.Proxy) {
			v.GetTxPort().Namespace = &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: "a/b"}
		}),
		"tx_port.l4_protocol: UDP; expected TCP": change(func(v *punt.Proxy) { v.GetTxPort().L4Protocol = punt.PortBased_UDP }),
		`rx_socket.path: "relative"`: change(func(v *punt.Proxy) {
			v.Rx = &punt.Proxy_RxSocket{RxSocket: path("relative", 0)}
		}),
		"tx_socket.path: ": change(func(v *punt.Proxy) {
			v.Tx = &punt.Proxy_TxSocket{TxSocket: path("/"+strings.Repeat("x", 107), 0)}
		}),
		"tx_socket.type: 9": change(func(v *punt.Proxy) { v.Tx = &punt.Proxy_TxSocket{TxSocket: path("/x", 9)} }),
		"tx_socket.type: DATAGRAM; expected STREAM, because the other side has connections": change(func(v *punt.Proxy) {
			v.Tx = &punt.Proxy_TxSocket{TxSocket: path("/x", punt.SocketBased_DATAGRAM)}
		}),
		`tx_socket.path: "/x" is the path of rx_socket`: change(func(v *punt.Proxy) {
			v.Rx, v.Tx = &punt.Proxy_RxSocket{RxSocket: path("/x", 0)}, &punt.Proxy_TxSocket{TxSocket: path("/x", 0)}
		}),
	} {
		if got := linuxtest.ErrorText(a.Apply(v)); !strings.Contains(got, want) {
			t.Errorf("expected %q, got %q", want, got)
		}
	}
}

package ifplugin_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/kernel"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// TestTraffic: two namespaces reach each other through a bridge in a third one, over IPv4 and
// IPv6, through a VXLAN tunnel across that bridge, and between MACVLAN interfaces.
func TestTraffic(t *testing.T) {
	t.Parallel()
	w := nltest.Kernel(t)
	a := linuxtest.Start(t, w)
	port := func(name, peer string) *interfaces.Interface {
		v := veth(name, peer, "switch")
		v.MasterInterface = "br"
		return v
	}
	tunnel := func(name, ns, remote, parent, addr string) *interfaces.Interface {
		return &interfaces.Interface{Name: name, Type: interfaces.Interface_VXLAN, Namespace: named(ns), Enabled: true, IpAddresses: []string{addr},
			Link: &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{Vni: 7, Remote: remote, ParentInterface: parent}}}
	}
	macvlan := func(name, ns, addr string) *interfaces.Interface {
		return &interfaces.Interface{Name: name, Type: interfaces.Interface_MACVLAN, Namespace: named(ns), Enabled: true, IpAddresses: []string{addr},
			Link: &interfaces.Interface_Macvlan{Macvlan: &interfaces.MacvlanLink{ParentInterface: "p1"}}}
	}
	values := []proto.Message{
		&interfaces.Interface{Name: "br", Type: interfaces.Interface_BRIDGE, Namespace: named("switch"), Enabled: true},
		port("p1", "e1"), veth("e1", "p1", "one", "10.1.0.1/24", "fd00:1::1/64"),
		port("p2", "e2"), veth("e2", "p2", "two", "10.1.0.2/24", "fd00:1::2/64"),
		tunnel("vx1", "one", "10.1.0.2", "e1", "10.2.0.1/24"), tunnel("vx2", "two", "10.1.0.1", "e2", "10.2.0.2/24"),
	}
	must(t, a.Apply(values...))
	exchange(t, w, "one", "two", "10.1.0.2")
	exchange(t, w, "two", "one", "10.1.0.1")
	exchange(t, w, "one", "two", "fd00:1::2")
	exchange(t, w, "one", "two", "10.2.0.2")

	must(t, a.Resync(veth("p1", "e1", "switch"), veth("e1", "p1", "switch"),
		macvlan("m1", "one", "10.3.0.1/24"), macvlan("m2", "two", "10.3.0.2/24")))
	exchange(t, w, "one", "two", "10.3.0.2")
}

// exchange sends a line from one namespace to an address in another one.
func exchange(t *testing.T, w *nltest.World, from, to, addr string) {
	t.Helper()
	var server net.Listener
	inNamespace(t, w, to, func() (err error) {
		// An IPv6 address cannot be used until the kernel knows that it is the only one.
		nltest.Poll(t, addr+" can be used", func() bool {
			server, err = net.Listen("tcp", net.JoinHostPort(addr, "0"))
			return err == nil
		})
		return nil
	})
	defer server.Close()
	received := make(chan string, 1)
	go func() {
		conn, err := server.Accept()
		if err != nil {
			received <- err.Error()
			return
		}
		defer conn.Close()
		text, _ := io.ReadAll(conn)
		received <- string(text)
	}()
	inNamespace(t, w, from, func() error {
		nltest.Poll(t, addr+" is reached from "+from, func() bool {
			conn, err := net.Dial("tcp", server.Addr().String())
			if err != nil {
				return false
			}
			defer conn.Close()
			_, err = fmt.Fprintf(conn, "to %s", addr)
			return err == nil
		})
		return nil
	})
	if got := <-received; got != "to "+addr {
		t.Errorf("from %s to %s: received %q", from, addr, got)
	}
}

// inNamespace runs f on a thread of a namespace. What f opens stays there.
func inNamespace(t *testing.T, w *nltest.World, name string, f func() error) {
	t.Helper()
	must(t, kernel.OnOwnThread(func() error {
		ns, err := os.Open(w.Path(name))
		if err != nil {
			return err
		}
		defer ns.Close()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	}))
}

package nltest

import (
	"context"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

func testSockets(t *testing.T, w *World) {
	one, two := w.Make(t, w.NewName()), w.Make(t, w.NewName())
	for _, h := range []netlinkapi.Handle{one, two} {
		must(t, h.SetUp(t.Context(), MustLink(t, h, "lo").Index, true))
	}
	dir := t.TempDir()
	for _, c := range [][2]string{
		{"tcp", "127.0.0.1:5000"}, {"tcp6", "[::1]:5001"}, {"udp4", "127.0.0.2:5000"}, {"udp", "127.0.0.3:5001"},
		{"unix", filepath.Join(dir, "stream")}, {"unixgram", filepath.Join(dir, "datagram")},
	} {
		network, address := c[0], c[1]
		t.Run(network, func(t *testing.T) {
			receive := address
			if network == "udp" || network == "udp4" || network == "tcp" { // any address
				_, port, _ := net.SplitHostPort(address)
				receive = ":" + port
			}
			stop := echo(t, one, network, receive)
			_, err := listenOn(t.Context(), one, network, receive)
			expect(t, "listen again", err, netlinkapi.ErrExists)
			if !strings.HasPrefix(network, "unix") { // each namespace has its own ports
				defer echo(t, two, network, receive)()
			}
			client, err := one.Dial(context.Background(), network, address)
			must(t, err)
			defer client.Close()
			_, err = client.Write([]byte("hello"))
			must(t, err)
			buffer := make([]byte, 5)
			_, err = io.ReadFull(client, buffer)
			must(t, err)
			if string(buffer) != "hello" {
				t.Errorf("received %q", buffer)
			}
			stop()
			echo(t, one, network, receive)() // the address is free again
		})
	}
}

// testAddressOfSocket: a socket listens on an address before a link has it.
func testAddressOfSocket(t *testing.T, w *World) {
	h := w.Make(t, w.NewName())
	lo := MustLink(t, h, "lo").Index
	must(t, h.SetUp(t.Context(), lo, true))
	for _, network := range []string{"tcp6", "udp6"} {
		socket, err := listenOn(t.Context(), h, network, "[fd00:99::1]:5000")
		must(t, err)
		must(t, socket.Close())
	}
	for i, network := range []string{"tcp", "tcp4", "udp", "udp4"} {
		t.Run(network, func(t *testing.T) {
			a := netlinkapi.Address{Link: lo, Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 99, 0, byte(i)}), 32)}
			address := netip.AddrPortFrom(a.Prefix.Addr(), 5000).String()
			defer echo(t, h, network, address)()
			must(t, h.AddAddress(t.Context(), a))
			client, err := h.Dial(context.Background(), network, address)
			must(t, err)
			defer client.Close()
			_, err = client.Write([]byte("hello"))
			must(t, err)
			buffer := make([]byte, 5)
			if _, err = io.ReadFull(client, buffer); err != nil || string(buffer) != "hello" {
				t.Errorf("received %q, error %v", buffer, err)
			}
		})
	}
}

// listenOn makes a socket.
func listenOn(ctx context.Context, h netlinkapi.Sockets, network, address string) (io.Closer, error) {
	switch network {
	case "tcp", "tcp4", "tcp6", "unix":
		return h.Listen(ctx, network, address)
	}
	return h.ListenPacket(ctx, network, address)
}

// echo sends back what comes first in a connection, or at all, until stop is called.
func echo(t *testing.T, h netlinkapi.Sockets, network, address string) (stop func()) {
	t.Helper()
	socket, err := listenOn(t.Context(), h, network, address)
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 100)
		switch s := socket.(type) {
		case net.Listener:
			for { // a connection may have come to see whether the socket is in use
				c, err := s.Accept()
				if err != nil {
					return
				}
				n, _ := c.Read(buffer)
				_, _ = c.Write(buffer[:n])
				c.Close()
			}
		case net.PacketConn:
			if n, from, err := s.ReadFrom(buffer); err == nil {
				_, _ = s.WriteTo(buffer[:n], from)
			}
		}
	}()
	return func() {
		must(t, socket.Close())
		<-done
	}
}

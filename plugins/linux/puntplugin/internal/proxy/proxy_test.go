package proxy_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/plugins/linux/puntplugin/internal/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var settings = proxy.Settings{Sessions: 2, DialTimeout: time.Minute, Idle: time.Hour, Log: logging.Nop()}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func to(network, address string) proxy.Dial {
	return func(ctx context.Context, _ net.Addr) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	_, err := io.WriteString(w, text)
	must(t, err)
}

func expect(t *testing.T, r io.Reader, text string) {
	t.Helper()
	buffer := make([]byte, len(text))
	_, err := io.ReadFull(r, buffer)
	must(t, err)
	if string(buffer) != text {
		t.Fatalf("received %q, expected %q", buffer, text)
	}
}

// await waits for counters, which follow what the other side sees.
func await(t *testing.T, p *proxy.Proxy, expected func(proxy.Counters) bool) {
	t.Helper()
	for c := p.Counters(); !expected(c); c = p.Counters() {
		select {
		case <-t.Context().Done():
			t.Fatalf("counters: %+v", c)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestConnections: each direction ends by itself, connections beyond the limit wait, and what
// went through is counted.
func TestConnections(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("unix", filepath.Join(t.TempDir(), "server"))
	must(t, err)
	defer server.Close()
	front, err := net.Listen("unix", filepath.Join(t.TempDir(), "front"))
	must(t, err)
	p := proxy.Connections(front, to("unix", server.Addr().String()), settings)
	defer p.Close()
	var clients, served []net.Conn
	for i := range 3 {
		c, err := net.Dial("unix", front.Addr().String())
		must(t, err)
		defer c.Close()
		clients = append(clients, c)
		if i < settings.Sessions {
			c, err := server.Accept()
			must(t, err)
			defer c.Close()
			served = append(served, c)
		}
	}
	write(t, clients[0], "question")
	must(t, clients[0].(*net.UnixConn).CloseWrite())
	all, err := io.ReadAll(served[0]) // sees the end
	must(t, err)
	write(t, served[0], "answer to "+string(all))
	expect(t, clients[0], "answer to question")
	await(t, p, func(c proxy.Counters) bool {
		return c.Active == 2 && c.Sessions == 2 && c.Received == 8 && c.Sent == 18
	})
	must(t, served[0].Close())
	third, err := server.Accept() // there is a place now
	must(t, err)
	defer third.Close()
	write(t, third, "hello")
	expect(t, clients[2], "hello")
	p.Redirect(to("unix", "/nonexistent/server"))
	must(t, clients[0].Close())
	write(t, clients[1], "more") // is still connected
	expect(t, served[1], "more")
	must(t, clients[1].Close())
	must(t, served[1].Close())
	refused, err := net.Dial("unix", front.Addr().String())
	must(t, err)
	defer refused.Close()
	if all, _ := io.ReadAll(refused); len(all) > 0 {
		t.Errorf("received %q", all)
	}
	if c := p.Counters(); c.Failed != 1 {
		t.Errorf("counters: %+v", c)
	}
}

// TestLargeTransfer: what is sent in one direction arrives whole.
func TestLargeTransfer(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("unix", filepath.Join(t.TempDir(), "server"))
	must(t, err)
	defer server.Close()
	front, err := net.Listen("unix", filepath.Join(t.TempDir(), "front"))
	must(t, err)
	p := proxy.Connections(front, to("unix", server.Addr().String()), settings)
	defer p.Close()
	client, err := net.Dial("unix", front.Addr().String())
	must(t, err)
	defer client.Close()
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	sent := make(chan error, 1)
	go func() {
		_, err := client.Write(data)
		sent <- err
		_ = client.Close()
	}()
	c, err := server.Accept()
	must(t, err)
	defer c.Close()
	all, err := io.ReadAll(c)
	must(t, err)
	must(t, <-sent)
	if !bytes.Equal(all, data) {
		t.Errorf("%d bytes of %d arrived, or others", len(all), len(data))
	}
}

// clientAt returns a socket of datagrams that is connected to a path.
func clientAt(t *testing.T, own, peer string) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unixgram", &net.UnixAddr{Name: own, Net: "unixgram"}, &net.UnixAddr{Name: peer, Net: "unixgram"})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func socketAt(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestDatagrams: each client gets the answers to its own datagrams, datagrams of clients
// beyond the limit are dropped, and a server that restarts is reached again.
func TestDatagrams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	count := 0
	dial := func(context.Context, net.Addr) (net.Conn, error) {
		count++
		return net.DialUnix("unixgram", &net.UnixAddr{Name: path("session" + string('0'+rune(count))), Net: "unixgram"},
			&net.UnixAddr{Name: path("server"), Net: "unixgram"})
	}
	p := proxy.Datagrams(socketAt(t, path("front")), dial, settings)
	defer p.Close()
	one := clientAt(t, path("one"), path("front"))
	write(t, one, "early") // there is no server
	nltest.Poll(t, "the datagram is dropped", func() bool { return p.Counters().Dropped == 1 })
	server := socketAt(t, path("server"))
	answer := func(server *net.UnixConn) {
		buffer := make([]byte, 100)
		n, from, err := server.ReadFrom(buffer)
		must(t, err)
		_, err = server.WriteTo(append([]byte("to "), buffer[:n]...), from)
		must(t, err)
	}
	two := clientAt(t, path("two"), path("front"))
	write(t, one, "one")
	answer(server)
	write(t, two, "two")
	answer(server)
	expect(t, one, "to one")
	expect(t, two, "to two")
	write(t, clientAt(t, path("three"), path("front")), "three")
	nltest.Poll(t, "the datagram of the third client is dropped", func() bool { return p.Counters().Dropped == 2 })
	must(t, server.Close())
	must(t, os.Remove(path("server")))
	server = socketAt(t, path("server"))
	write(t, one, "again")
	answer(server)
	expect(t, one, "to again")
	if c := p.Counters(); c.Active != 2 || c.Received != 11 || c.Sent != 20 || c.Failed != 1 {
		t.Errorf("counters: %+v", c)
	}
}

// TestIdle: a client that sends nothing gives its place back.
func TestIdle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	short := settings
	short.Idle = time.Millisecond
	server := socketAt(t, filepath.Join(dir, "server"))
	p := proxy.Datagrams(socketAt(t, filepath.Join(dir, "front")), to("unixgram", filepath.Join(dir, "server")), short)
	defer p.Close()
	client, err := net.Dial("unixgram", filepath.Join(dir, "front")) // has no address
	must(t, err)
	defer client.Close()
	write(t, client, "hello")
	buffer := make([]byte, 5)
	_, _, err = server.ReadFrom(buffer)
	must(t, err)
	nltest.Poll(t, "the session ends", func() bool { c := p.Counters(); return c.Sessions == 1 && c.Active == 0 })
}

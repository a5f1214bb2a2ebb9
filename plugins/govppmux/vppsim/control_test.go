package vppsim_test

import (
	"bufio"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	interfaces "go.fd.io/govpp/binapi/interface"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{JournalSize: 10})
	c := dial(t, socket)
	call[interfaces.CreateLoopbackReply](c, &interfaces.CreateLoopback{})
	var out strings.Builder
	script := `dump
fail create_loopback -6 1
failafter create_loopback -6 1
drop create_loopback 1
mute create_loopback
delay create_loopback 1ms
forget show_version
heal

counts
journal
journal 1
hung
clients
pid
help
hang
resume
disconnect
die
restart
`
	must(t, vpp.Control(strings.NewReader(script), &out, false))
	for _, want := range []string{"interface 1 loop0 Loopback", "create_loopback 1\n", "control_ping", "[2147483649]", "swallow N requests"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "error:") || loops(vpp) != 0 {
		t.Errorf("%s\n%s", out.String(), vpp.Dump())
	}
}

func TestBadCommands(t *testing.T) {
	t.Parallel()
	vpp := vppsim.New(vppsim.Options{})
	for _, line := range []string{
		"explode", "explode now", "forget", "delay show_version", "delay show_version soon",
		"drop show_version many", "fail show_version", "fail show_version x", "fail show_version -1 x", "drop nope 1", "journal x", "journal 1 2",
	} {
		if _, err := vpp.Command(line); err == nil {
			t.Errorf("%q was accepted", line)
		} else if !strings.Contains(err.Error(), strings.Fields(line)[0]) && !errors.Is(err, vppsim.ErrUnknownMessage) {
			t.Errorf("%q: %v does not say what was wrong", line, err)
		}
	}
	must(t, vpp.Close())
}

func TestControlSocket(t *testing.T) {
	t.Parallel()
	vpp := vppsim.New(vppsim.Options{})
	path := filepath.Join(t.TempDir(), "control")
	ln, err := vppsim.ListenControl(path)
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- vpp.ServeControl(ln) }()
	conn, err := net.Dial("unix", path)
	must(t, err)
	_, err = conn.Write([]byte("pid\nexplode\n"))
	must(t, err)
	lines := bufio.NewScanner(conn)
	var got []string
	for len(got) < 4 && lines.Scan() {
		got = append(got, lines.Text())
	}
	if len(got) != 4 || got[1] != "." || !strings.HasPrefix(got[2], "error: explode") || got[3] != "." {
		t.Errorf("%q", got)
	}
	must(t, ln.Close())
	must(t, <-done)
	must(t, conn.Close())
	must(t, vpp.Close())
}

package logmanager_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/logging/logmanager"
)

// received is what a syslog or Logstash has got, a message or line each.
type received chan string

func (r received) next(t *testing.T) string {
	t.Helper()
	select {
	case text := <-r:
		return text
	case <-time.After(time.Minute):
		t.Fatal("nothing arrives within a minute")
		return ""
	}
}

// packets is a server of datagrams.
func packets(t *testing.T, network, address string) (received, net.Addr) {
	t.Helper()
	conn, err := net.ListenPacket(network, address)
	infratest.Fatal(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	r := make(received, 2000)
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, _, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			r <- string(buf[:n])
		}
	}()
	return r, conn.LocalAddr()
}

// stream is a server of lines; stop closes it, with its connections.
func stream(t *testing.T, network, address string) (r received, addr net.Addr, stop func()) {
	t.Helper()
	ln, err := net.Listen(network, address)
	infratest.Fatal(t, err)
	r = make(received, 2000)
	conns := make(chan net.Conn, 10)
	go func() {
		defer close(conns)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conns <- conn
			go func() {
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					r <- lines.Text() + "\n"
				}
			}()
		}
	}()
	stop = func() {
		_ = ln.Close()
		for conn := range conns {
			_ = conn.Close()
		}
	}
	t.Cleanup(stop)
	return r, ln.Addr(), stop
}

// logger starts an agent with hooks and returns a logger of it.
func logger(t *testing.T, conf string) (logging.Logger, *agent.Agent) {
	t.Helper()
	loggers := logging.NewRegistry(logging.WithWriter(io.Discard))
	p := logmanager.NewPlugin(logmanager.UseDeps(func(d *logmanager.Deps) { d.Cfg = config.Text("logs", conf) }))
	a := agenttest.New(t, agent.Name("my agent"), agent.Logging(loggers), agent.AllPlugins(p))
	infratest.Fatal(t, a.Start(t.Context()))
	return loggers.Logger("vpp"), a
}

const rfc5424 = `<%d>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\S+ \S+ my-agent \d+ - - %s` + "\n"

func TestSyslog(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	infratest.Fatal(t, err)
	udp, udpAddr := packets(t, "udp", "127.0.0.1:0")
	tcp, tcpAddr, _ := stream(t, "tcp", "127.0.0.1:0")
	gramPath, streamPath := filepath.Join(t.TempDir(), "gram"), filepath.Join(t.TempDir(), "stream")
	gram, _ := packets(t, "unixgram", gramPath)
	lines, _, _ := stream(t, "unix", streamPath)
	for _, test := range []struct {
		conf     string
		got      received
		encoding string
	}{
		{"address: " + udpAddr.String(), udp, rfc5424},
		{fmt.Sprintf("{protocol: tcp, address: 127.0.0.1, port: %d}", tcpAddr.(*net.TCPAddr).Port), tcp, rfc5424},
		{"{protocol: unix, address: " + gramPath + "}", gram, `<%d>\w{3} [ \d]\d \d\d:\d\d:\d\d my-agent\[\d+\]: %s` + "\n"},
		{"{protocol: unix, address: " + streamPath + "}", lines, `<%d>\w{3} [ \d]\d \d\d:\d\d:\d\d my-agent\[\d+\]: %s` + "\n"},
	} {
		conf := "hooks:\n  syslog: " + test.conf + "\n"
		if !strings.HasPrefix(test.conf, "{") {
			conf = "hooks:\n  syslog:\n    " + test.conf + "\n"
		}
		log, a := logger(t, conf)
		log.Warn("not sent by default")
		log.Error("two\nlines", "key", "a b")
		want := fmt.Sprintf("^"+test.encoding+"$", 3<<3|3, regexp.QuoteMeta(`vpp two\nlines {"key": "a b"}`))
		if got := test.got.next(t); !regexp.MustCompile(want).MatchString(got) || strings.Contains(test.encoding, "5424") && !strings.Contains(got, host) {
			t.Errorf("%s: got %q, want %s", test.conf, got, want)
		}
		log.Error(strings.Repeat("x", 20000))
		if got := test.got.next(t); len(got) > 9000 {
			t.Errorf("%s: %d bytes", test.conf, len(got))
		}
		log.Error("last") // sent although the agent stops
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
		if got := test.got.next(t); !strings.Contains(got, "vpp last") {
			t.Errorf("%s: got %q", test.conf, got)
		}
	}
}

func TestLevelsOfHooks(t *testing.T) {
	t.Parallel()
	udp, addr := packets(t, "udp", "127.0.0.1:0")
	log, _ := logger(t, "default-level: debug\nhooks: {syslog: {address: '"+addr.String()+"', levels: [panic, warning, debug]}}\n")
	log.Info("no")
	for level, write := range map[int]func(any, ...any){3: log.Error, 4: log.Warn, 7: log.Debug} {
		write("yes")
		for {
			got := udp.next(t)
			if strings.Contains(got, " vpp ") {
				if !strings.HasPrefix(got, fmt.Sprintf("<%d>1 ", 3<<3|level)) {
					t.Errorf("got %q", got)
				}
				break
			}
		}
	}
}

func TestLogstash(t *testing.T) {
	t.Parallel()
	tcp, addr, _ := stream(t, "tcp", "127.0.0.1:0")
	log, _ := logger(t, "hooks: {logstash: {protocol: tcp, address: '"+addr.String()+"'}}\n")
	log.Error("it failed", "n", 1, "message", "not this one")
	var got map[string]string
	infratest.Fatal(t, json.Unmarshal([]byte(tcp.next(t)), &got))
	if _, err := time.Parse(time.RFC3339Nano, got["@timestamp"]); err != nil {
		t.Error(err)
	}
	for key, want := range map[string]string{"message": "it failed", "n": "1", "level": "error", "logger": "vpp", "program": "my agent", "@version": "1"} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
}

// An unreachable server blocks no caller, and gets the queued entries when it is back.
func TestServerThatIsAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "syslog")
	log, _ := logger(t, "hooks: {syslog: {protocol: unix, address: "+path+"}}\n")
	for i := range 2000 { // more than may wait
		log.Error("entry", "i", i)
	}
	lines, _, stop := stream(t, "unix", path)
	for i := range 2 { // the second has left the queue, which has room again then
		if got := lines.next(t); !strings.Contains(got, fmt.Sprintf(`vpp entry {"i": "%d"}`+"\n", i)) {
			t.Errorf("got %q", got)
		}
	}
	stop()
	next, _, _ := stream(t, "unix", path)
	log.Error("after the restart")
	for !strings.Contains(next.next(t), "after the restart") {
	}
}

func TestHooksThatAreWrong(t *testing.T) {
	t.Parallel()
	for conf, want := range map[string]string{
		"syslog: {protocol: sctp, address: x}":                 `hooks.syslog.protocol: "sctp": expected udp, tcp or unix`,
		"syslog: {protocol: udp}":                              "hooks.syslog.address: expected the address of the server",
		"logstash: {}":                                         "hooks.logstash.address: expected the address of the server",
		"logstash: {address: x}":                               "hooks.logstash.port: expected the port of the server",
		"syslog: {address: x, port: 70000}":                    "hooks.syslog.port: 70000: expected 1 to 65535",
		"syslog: {address: 'x:1', port: 2}":                    "hooks.syslog.port: 2: differs from the port in address, 1",
		"syslog: {protocol: unix, address: /dev/log, port: 2}": "hooks.syslog.port: 2: a unix socket has no port",
		"syslog: {address: x, levels: [loud]}":                 `hooks.syslog.levels[0]: unknown log level "loud"`,
		"fluent: {address: x, protocol: udp}":                  "hooks.fluent.protocol: udp: expected tcp or unix",
		"fluent: {port: 24224}":                                "hooks.fluent.address: expected the address of the server",
		"loki: {address: x}":                                   "hooks.loki: unknown key; known keys: syslog, logstash, fluent",
	} {
		p := logmanager.NewPlugin(logmanager.UseDeps(func(d *logmanager.Deps) { d.Cfg = config.Text("logs", "hooks: {"+conf+"}") }))
		err := agenttest.New(t, agent.AllPlugins(p)).Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", conf, err, want)
		}
	}
}

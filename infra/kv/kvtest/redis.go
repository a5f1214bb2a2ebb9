package kvtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// Redis starts a Redis that writes every change to disk; args are added to its
// command line. The test is skipped if Redis is not installed.
func Redis(tb testing.TB, args ...string) *Process {
	tb.Helper()
	binary := find(tb, "redis-server", "redis-server")
	return start(tb, redisReady, func(p *Process) []string {
		return append([]string{
			binary, "--bind", "127.0.0.1", "--port", portOf(p.Direct), "--dir", p.dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always",
		}, args...)
	})
}

// Sentinel starts a sentinel that watches a master under the name "test". Its
// timeouts are long, since the machine may be busy.
func Sentinel(tb testing.TB, master *Process) *Process {
	tb.Helper()
	binary := find(tb, "redis-server", "redis-server")
	return start(tb, redisReady, func(p *Process) []string {
		host, masterPort, _ := net.SplitHostPort(master.Direct)
		file := filepath.Join(p.dir, "sentinel.conf")
		text := fmt.Sprintf("bind 127.0.0.1\nport %s\nsentinel monitor test %s %s 1\nsentinel down-after-milliseconds test 60000\nsentinel failover-timeout test 600000\n",
			portOf(p.Direct), host, masterPort)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
		return []string{binary, file, "--sentinel"}
	})
}

// redisReady reports whether the server has loaded its data. A server that
// requires a password or TLS responds with an error.
func redisReady(p *Process) bool {
	answer := p.reply(time.Second, "PING")
	return strings.HasPrefix(answer, "+PONG") || strings.HasPrefix(answer, "-NOAUTH") || strings.HasPrefix(answer, "-DENIED")
}

// Reply sends a command to a Redis and returns the first line of the reply,
// which is empty if there is none.
func (p *Process) Reply(words ...string) string { return p.reply(patience, words...) }

func (p *Process) reply(timeout time.Duration, words ...string) string {
	c, err := net.DialTimeout("tcp", p.Direct, timeout)
	if err != nil {
		return ""
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(timeout))
	if _, err := fmt.Fprintf(c, "%s\r\n", strings.Join(words, " ")); err != nil {
		return ""
	}
	line, _ := bufio.NewReader(c).ReadString('\n')
	return line
}

// Info returns a section of what INFO of a Redis reports.
func (p *Process) Info(tb testing.TB, section string) string {
	tb.Helper()
	c, err := net.DialTimeout("tcp", p.Direct, patience)
	infratest.Fatal(tb, err)
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	_, err = fmt.Fprintf(c, "INFO %s\r\n", section)
	infratest.Fatal(tb, err)
	r := bufio.NewReader(c)
	head, err := r.ReadString('\n')
	infratest.Fatal(tb, err)
	size, err := strconv.Atoi(strings.Trim(head, "$\r\n"))
	infratest.Fatal(tb, err)
	text := make([]byte, size)
	_, err = io.ReadFull(r, text)
	infratest.Fatal(tb, err)
	return string(text)
}

// Command sends a command to a Redis, which must succeed.
func (p *Process) Command(tb testing.TB, words ...string) {
	tb.Helper()
	if answer := p.Reply(words...); answer == "" || strings.HasPrefix(answer, "-") {
		tb.Fatalf("%v: %q", words, answer)
	}
}

// FreePort returns a port of 127.0.0.1 that is free until the end of the test.
func FreePort(tb testing.TB) string {
	tb.Helper()
	return portOf(freeAddr(tb))
}

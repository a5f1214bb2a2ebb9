package kvtest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Redis starts a Redis that writes every change to disk; args are added to its
// command line. The test is skipped if Redis is not installed.
func Redis(tb testing.TB, args ...string) *Process {
	tb.Helper()
	binary := find(tb, "redis-server", "redis-server")
	return start(tb, redisReady, func(p *Process) []string {
		_, port, _ := net.SplitHostPort(p.Direct) // freeAddr returned it
		return append([]string{
			binary, "--bind", "127.0.0.1", "--port", port, "--dir", p.dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always",
		}, args...)
	})
}

// Sentinel starts a sentinel that watches a master under the name "test". Its
// timeouts are long, since the machine may be busy.
func Sentinel(tb testing.TB, master *Process) *Process {
	tb.Helper()
	binary := find(tb, "redis-server", "redis-server")
	return start(tb, redisReady, func(p *Process) []string {
		_, port, _ := net.SplitHostPort(p.Direct)
		host, masterPort, _ := net.SplitHostPort(master.Direct)
		file := filepath.Join(p.dir, "sentinel.conf")
		text := fmt.Sprintf("bind 127.0.0.1\nport %s\nsentinel monitor test %s %s 1\nsentinel down-after-milliseconds test 60000\nsentinel failover-timeout test 600000\n",
			port, host, masterPort)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
		return []string{binary, file, "--sentinel"}
	})
}

// redisReady reports whether the server has loaded its data. A server that
// requires a password or TLS responds with an error.
func redisReady(p *Process) bool {
	answer := p.command1(time.Second, "PING")
	return strings.HasPrefix(answer, "+PONG") || strings.HasPrefix(answer, "-NOAUTH") || strings.HasPrefix(answer, "-DENIED")
}

// command1 sends a command to a Redis and returns the first line of the reply,
// which is empty after a timeout.
func (p *Process) command1(timeout time.Duration, words ...string) string {
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

// Command sends a command to a Redis, which must succeed.
func (p *Process) Command(tb testing.TB, words ...string) {
	tb.Helper()
	if answer := p.command1(patience, words...); answer == "" || strings.HasPrefix(answer, "-") {
		tb.Fatalf("%v: %q", words, answer)
	}
}

// Number sends a command to a Redis that replies with a number.
func (p *Process) Number(tb testing.TB, words ...string) int64 {
	tb.Helper()
	answer := p.command1(patience, words...)
	n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(answer, ":")), 10, 64)
	if err != nil {
		tb.Fatalf("%v: %q, want a number", words, answer)
	}
	return n
}

// AwaitCommand repeats a command until the reply begins with a text.
func (p *Process) AwaitCommand(tb testing.TB, want string, words ...string) {
	tb.Helper()
	ctx, again := deadline(tb), tick(tb)
	for {
		answer := p.command1(patience, words...)
		if strings.HasPrefix(answer, want) {
			return
		}
		select {
		case <-again:
		case <-ctx.Done():
			tb.Fatalf("%v: %q, want %q", words, answer, want)
		}
	}
}

// FreePort returns a port of 127.0.0.1 that is free until the end of the test.
func FreePort(tb testing.TB) string {
	tb.Helper()
	_, port, _ := net.SplitHostPort(freeAddr(tb))
	return port
}

// RedisCluster starts three servers that share the slots.
func RedisCluster(tb testing.TB) []*Process {
	tb.Helper()
	var all []*Process
	var buses []string
	for i := range 3 {
		// The default port of the cluster bus is 10,000 above the other one, which may
		// be out of range. The timeout is long, so that no server is considered failed.
		bus := FreePort(tb)
		p := Redis(tb, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "60000")
		first, last := i*5461, min(i*5461+5460, 16383)
		if i == 2 {
			last = 16383
		}
		p.Command(tb, "CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(first), fmt.Sprint(last))
		p.Command(tb, "CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+1))
		all, buses = append(all, p), append(buses, bus)
	}
	for _, p := range all[1:] {
		host, port, _ := net.SplitHostPort(all[0].Direct)
		p.Command(tb, "CLUSTER", "MEET", host, port, buses[0])
	}
	late := time.After(patience)
	for _, p := range all {
		for !strings.HasPrefix(p.command1(time.Second, "SET", "probe", "x"), "+OK") && !strings.HasPrefix(p.command1(time.Second, "GET", "probe"), "-MOVED") {
			select {
			case <-time.After(20 * time.Millisecond):
			case <-late:
				tb.Fatalf("the cluster does not become ready: %s", p.command1(time.Second, "GET", "probe"))
			}
		}
	}
	return all
}

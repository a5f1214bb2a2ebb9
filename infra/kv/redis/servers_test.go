package redis_test

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// number sends a command to a server that replies with a number.
func number(t *testing.T, p *kvtest.Process, words ...string) int64 {
	t.Helper()
	answer := p.Reply(words...)
	n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(answer, ":")), 10, 64)
	if err != nil {
		t.Fatalf("%v: %q, want a number", words, answer)
	}
	return n
}

// awaitReply repeats a command until the reply begins with one of the texts.
func awaitReply(t *testing.T, p *kvtest.Process, texts []string, words ...string) {
	t.Helper()
	for {
		answer := p.Reply(words...)
		if slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(answer, text) }) {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("%v: %q, want %q", words, answer, texts)
		}
	}
}

// startCluster starts three servers that share the slots.
func startCluster(t *testing.T) []*kvtest.Process {
	t.Helper()
	var all []*kvtest.Process
	var buses []string
	for i := range 3 {
		// The default port of the cluster bus is 10,000 above the other one, which may
		// be out of range. The timeout is long, so that no server is considered failed.
		bus := kvtest.FreePort(t)
		p := kvtest.Redis(t, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "60000")
		first, last := i*5461, min(i*5461+5460, 16383)
		if i == 2 {
			last = 16383
		}
		p.Command(t, "CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(first), fmt.Sprint(last))
		p.Command(t, "CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+1))
		all, buses = append(all, p), append(buses, bus)
	}
	for _, p := range all[1:] {
		host, port, _ := net.SplitHostPort(all[0].Direct)
		p.Command(t, "CLUSTER", "MEET", host, port, buses[0])
	}
	for _, p := range all {
		awaitReply(t, p, []string{"+OK", "-MOVED"}, "SET", "probe", "x")
	}
	return all
}

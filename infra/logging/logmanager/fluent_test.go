package logmanager_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// unpack reads a value of MessagePack, of the kinds that Fluentd is sent.
func unpack(r *bufio.Reader) (any, error) {
	kind, err := r.ReadByte()
	if err != nil {
		return nil, err
	}
	bytes := func(n uint32) ([]byte, error) {
		b := make([]byte, n)
		_, err := io.ReadFull(r, b)
		return b, err
	}
	size := uint32(0)
	if kind == 0xdb || kind == 0xdf {
		b, err := bytes(4)
		if err != nil {
			return nil, err
		}
		size = binary.BigEndian.Uint32(b)
	}
	switch kind {
	case 0x93:
		list := make([]any, 3)
		for i := range list {
			if list[i], err = unpack(r); err != nil {
				return nil, err
			}
		}
		return list, nil
	case 0xdb:
		b, err := bytes(size)
		return string(b), err
	case 0xdf:
		m := map[string]any{}
		for range size {
			key, err := unpack(r)
			if err != nil {
				return nil, err
			}
			if m[key.(string)], err = unpack(r); err != nil {
				return nil, err
			}
		}
		return m, nil
	case 0xd7:
		b, err := bytes(9)
		if err != nil || b[0] != 0 {
			return nil, fmt.Errorf("extension %v: %w", b, err)
		}
		return time.Unix(int64(binary.BigEndian.Uint32(b[1:])), int64(binary.BigEndian.Uint32(b[5:]))), nil
	}
	return nil, fmt.Errorf("unexpected kind %x", kind)
}

// fluentd is a server of the forward protocol.
func fluentd(t *testing.T, network, address string) (events chan []any, addr net.Addr) {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	events = make(chan []any, 100)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for r := bufio.NewReader(conn); ; {
					event, err := unpack(r)
					if err != nil {
						return
					}
					events <- event.([]any)
				}
			}()
		}
	}()
	return events, ln.Addr()
}

func TestFluent(t *testing.T) {
	t.Parallel()
	tcp, addr := fluentd(t, "tcp", "127.0.0.1:0")
	path := filepath.Join(t.TempDir(), "fluent")
	unix, _ := fluentd(t, "unix", path)
	for conf, events := range map[string]chan []any{
		fmt.Sprintf("{address: 127.0.0.1, port: %d}", addr.(*net.TCPAddr).Port): tcp,
		"{protocol: unix, address: " + path + "}":                               unix,
	} {
		log, _ := logger(t, "hooks: {fluent: "+conf+"}\n")
		log.Error("it failed", "n", 1, "message", "not this one", "long", strings.Repeat("ä", 300))
		log.Error("again")
		for _, message := range []string{"it failed", "again"} {
			var event []any
			select {
			case event = <-events:
			case <-time.After(time.Minute):
				t.Fatal("nothing arrives within a minute")
			}
			record := event[2].(map[string]any)
			if at := event[1].(time.Time); event[0] != "my agent" || time.Since(at).Abs() > time.Hour {
				t.Errorf("tag %q, time %v", event[0], at)
			}
			if record["message"] != message || record["level"] != "error" || record["logger"] != "vpp" {
				t.Errorf("got %v", record)
			}
			if message == "it failed" && (record["n"] != "1" || record["long"] != strings.Repeat("ä", 300)) {
				t.Errorf("got %v", record)
			}
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// sources are where the agent has its configuration from: a file, etcd, or both, each with
// some of the groups.
type sources struct {
	t      *testing.T
	prefix string // of keys
	file   string // path; "" is without one
	server *kvtest.Process
	db     kv.DB
	inEtcd map[string][]byte // what etcd has, by key with the prefix
	inFile int               // items in the file
	split  int               // etcd has the groups whose number modulo split is not 0; 0: it has none, 1: all
}

// connect opens etcd beside the proxy that the agent uses.
func (s *sources) connect() {
	s.t.Helper()
	cfg := etcd.DefaultConfig()
	cfg.Endpoints, cfg.DialTimeout, cfg.OperationTimeout = []string{s.server.Direct}, patience, patience
	db, closeDB, err := etcd.Open(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.db = db
	s.t.Cleanup(func() { _ = closeDB() })
}

// ofEtcd reports whether etcd has a group.
func (s *sources) ofEtcd(n int) bool {
	return s.server != nil && (s.file == "" || n%s.split != 0)
}

// write publishes a configuration.
func (s *sources) write(c *network) {
	s.t.Helper()
	var lines [][]byte
	desired := map[string][]byte{}
	for _, key := range slices.Sorted(maps.Keys(c.values)) {
		value := s.json(c.values[key])
		if s.ofEtcd(c.source[key]) {
			desired[s.prefix+key] = value
			continue
		}
		line, err := json.Marshal(map[string]any{"key": key, "value": json.RawMessage(value)})
		if err != nil {
			s.t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if s.inFile = len(lines); s.file != "" {
		s.replace(s.file, fmt.Appendf(nil, "{\"data\": [\n%s\n]}\n", bytes.Join(lines, []byte(",\n"))))
	}
	if s.server != nil {
		s.store(desired)
	}
}

// replace changes a file at once.
func (s *sources) replace(path string, text []byte) {
	s.t.Helper()
	fresh := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := errors.Join(os.WriteFile(fresh, text, 0o600), os.Rename(fresh, path)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sources) json(m proto.Message) []byte {
	s.t.Helper()
	text, err := protojson.Marshal(m)
	if err != nil {
		s.t.Fatal(err)
	}
	var compact bytes.Buffer // protojson adds blanks at random
	if err := json.Compact(&compact, text); err != nil {
		s.t.Fatal(err)
	}
	return compact.Bytes()
}

// store changes etcd, at most as many keys at a time as it allows.
func (s *sources) store(desired map[string][]byte) {
	s.t.Helper()
	var ops []kv.Op
	for _, key := range slices.Sorted(maps.Keys(s.inEtcd)) {
		if _, stays := desired[key]; !stays {
			ops = append(ops, kv.Op{Key: key})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(desired)) {
		if !bytes.Equal(desired[key], s.inEtcd[key]) {
			ops = append(ops, kv.Op{Key: key, Value: desired[key]})
		}
	}
	for some := range slices.Chunk(ops, s.db.Features().TxnOps) {
		s.retry(func() error { return s.db.Txn(s.t.Context(), some...) })
	}
	s.inEtcd = desired
}

// retry repeats a write to etcd until it succeeds: after a restart of etcd the client
// reports the last refused connection for a while.
func (s *sources) retry(write func() error) {
	s.t.Helper()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		err := write()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			s.t.Fatal(err)
		}
	}
}

// lose has etcd lose everything.
func (s *sources) lose() {
	s.server.Stop()
	s.server.Wipe(s.t)
	s.server.Start(s.t)
	s.inEtcd = nil
}

// compact has etcd forget its history.
func (s *sources) compact() {
	s.t.Helper()
	const key = "/trial/compaction" // a revision to compact to: etcd refuses one twice
	s.retry(func() error { return s.db.Put(s.t.Context(), key, nil) })
	at, err := s.db.Get(s.t.Context(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	kvtest.Etcdctl(s.t, "--endpoints", s.server.Direct, "compaction", fmt.Sprint(at.Revision))
}

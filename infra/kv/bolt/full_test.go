package bolt_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
)

// On a full disk nothing is changed, and the error of a write names the remedy; what was
// there can be read, and there is nothing to repair when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := infratest.SmallDisk(t, "256k")
	path := filepath.Join(dir, "bolt.db")
	p := bolt.NewPlugin(bolt.UseConf(conf(path)))
	a := agenttest.Start(t, p)
	infratest.Fatal(t, p.DB().Put(t.Context(), "a", []byte("1")))
	before, err := p.DB().List(t.Context(), "")
	infratest.Fatal(t, err)
	free := infratest.FillDisk(t, dir, 0)
	large := []byte(strings.Repeat("x", 200_000))
	for what, write := range map[string]func() error{
		"put":              func() error { return p.DB().Put(t.Context(), "b", large) },
		"transaction":      func() error { return p.DB().Txn(t.Context(), kv.Op{Key: "a"}, kv.Op{Key: "b", Value: large}) },
		"compare and swap": func() error { _, err := p.DB().CompareAndSwap(t.Context(), "a", []byte("1"), large); return err },
	} {
		err := write()
		if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "bolt: "+what) || strings.Count(err.Error(), path) != 1 ||
			!strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if now, err := p.DB().List(t.Context(), ""); err != nil || len(now.Items) != 1 || string(now.Items[0].Value) != "1" || now.Revision != before.Revision {
		t.Errorf("while the disk is full: %+v, %v", now, err)
	}
	infratest.Fatal(t, a.Stop())
	p = bolt.NewPlugin(bolt.UseConf(conf(path)))
	agenttest.Start(t, p) // nothing has to be written for that
	if now, err := p.DB().List(t.Context(), ""); err != nil || len(now.Items) != 1 || now.Revision != before.Revision {
		t.Errorf("after a restart: %+v, %v", now, err)
	}
	free()
	if err := p.DB().Put(t.Context(), "b", []byte("2")); err != nil {
		t.Errorf("with room again: %v", err)
	}
	enough := errors.New("enough")
	err = p.DB().WatchFrom(t.Context(), "", before.Revision, func(evs []kv.Event) error {
		if len(evs) != 1 || evs[0].Key != "b" || string(evs[0].Value) != "2" {
			t.Errorf("watchers got %+v", evs)
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
}

// A start without room for the file leaves nothing behind that would be in the
// way of the next one.
func TestStartOnFullDisk(t *testing.T) {
	t.Parallel()
	dir := infratest.SmallDisk(t, "256k")
	path := filepath.Join(dir, "bolt.db")
	for pages := range 4 { // a new file has four
		free := infratest.FillDisk(t, dir, pages)
		err := agenttest.New(t, agent.AllPlugins(bolt.NewPlugin(bolt.UseConf(conf(path))))).Start(t.Context())
		if !errors.Is(err, syscall.ENOSPC) || strings.Count(err.Error(), path) != 1 || !strings.Contains(err.Error(), "free disk space") {
			t.Errorf("with room for %d pages: got %v", pages, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("with room for %d pages: left behind: %v", pages, err)
		}
		free()
	}
	agenttest.Start(t, bolt.NewPlugin(bolt.UseConf(conf(path))))
}

package filedb

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

const (
	// rereadEvery is the interval at which small files are read again even if
	// they seem unchanged.
	rereadEvery = 10 * time.Second
	// maxDrained is the maximum number of notifications handled together.
	maxDrained = 1000
)

// follower follows the files for one receiver. It belongs to one goroutine.
type follower struct {
	p      *Plugin
	log    logging.Logger
	clock  clock
	handle func(kv.Update) error
	reader *reader

	notify   *fsnotify.Watcher // nil if the system has no inotify instance left
	settling settler
	forced   map[string]bool // files that were written to
	reread   bool            // read small files again
	told     []kv.Entry

	incomplete []string    // as last reported
	evidence   kv.Evidence // as last reported

	errors, conflicts, unwatched once
}

func (f *follower) run(ctx context.Context) error {
	f.forced = map[string]bool{}
	var events <-chan fsnotify.Event
	var errs <-chan error
	w, err := fsnotify.NewWatcher()
	if err != nil {
		f.log.Warn("changes of files are found by polling only", "error", err)
	} else {
		defer func() { _ = w.Close() }() // always nil
		f.notify, events, errs = w, w.Events, w.Errors
	}
	f.watch()
	f.reader.look()
	f.load(true)

	poll := time.NewTicker(f.p.cfg.PollInterval)
	defer poll.Stop()
	reread := time.NewTicker(rereadEvery)
	defer reread.Stop()
	for ctx.Err() == nil {
		var settled <-chan time.Time
		if at, ok := f.settling.due(); ok {
			settled = f.clock.After(at.Sub(f.clock.Now()))
		}
		select {
		case <-ctx.Done():
		case ev := <-events:
			f.announced(ev, events)
		case err := <-errs:
			f.log.Debug("announcements of changes were lost", "error", err)
			f.reread = true
			f.settling.touch(f.clock.Now(), false)
		case <-poll.C:
			f.look(f.reader.waiting())
		case <-reread.C:
			f.reread = true
			f.settling.touch(f.clock.Now(), false)
		case <-settled:
			if !f.look(false) {
				f.settling.reset()
				f.load(false)
			}
		}
	}
	return nil
}

// announced handles a notification of the file system, and those that are
// pending.
func (f *follower) announced(ev fsnotify.Event, more <-chan fsnotify.Event) {
	touched := false
	for range maxDrained {
		if f.reader.files[ev.Name] != nil {
			f.forced[ev.Name], touched = true, true
		}
		if ev.Has(fsnotify.Remove|fsnotify.Rename) && slices.Contains(f.notify.WatchList(), ev.Name) {
			_ = f.notify.Remove(ev.Name) // a new directory may come in its place
		}
		select {
		case ev = <-more:
			continue
		default:
		}
		break
	}
	f.look(touched)
}

// look looks for changes; if there are any, they have to settle.
func (f *follower) look(touched bool) (changed bool) {
	changed, suspicious := f.reader.look()
	settled := !f.settling.waits()
	if changed || touched {
		f.settling.touch(f.clock.Now(), suspicious)
	}
	if changed {
		f.watch()
		if settled { // once, not for every piece of what is being written
			f.reader.readAhead()
		}
	}
	return changed
}

// watch watches the directories in which files may change.
func (f *follower) watch() {
	if f.notify == nil {
		return
	}
	want := f.reader.seen.directories(f.reader.paths)
	have := f.notify.WatchList()
	var failed []string
	for _, dir := range have {
		if !slices.Contains(want, dir) {
			_ = f.notify.Remove(dir) // it may have been deleted
		}
	}
	for _, dir := range want {
		if slices.Contains(have, dir) {
			continue
		}
		if err := f.notify.Add(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = append(failed, dir)
			if f.unwatched.first(dir) {
				f.log.Warn("changes in a directory are found by polling only", "directory", dir, "error", err)
			}
		}
	}
	f.unwatched.keep(failed)
}

// load reads the changed files and passes the changes to the receiver.
func (f *follower) load(first bool) {
	changed := f.reader.load(func(path string, info os.FileInfo) bool {
		return f.forced[path] || f.reread && info.Size() <= smallFile
	})
	f.reread = false
	clear(f.forced)
	entries, conflicts := f.reader.merged(f.told)
	f.report(changed, conflicts)
	u := kv.Update{Resync: first, Incomplete: f.reader.incomplete(), Evidence: f.reader.evidence()}
	news := first || !slices.Equal(u.Incomplete, f.incomplete) ||
		!slices.Equal(u.Emptied, f.evidence.Emptied) || !maps.Equal(u.Doubtful, f.evidence.Doubtful)
	if !news && len(changed) == 0 {
		return
	}
	u.Changes = difference(f.told, entries)
	f.told, f.incomplete, f.evidence = entries, u.Incomplete, u.Evidence
	if !news && len(u.Changes) == 0 {
		return
	}
	f.log.Debug("files changed", "files", changed, "changes", len(u.Changes))
	if err := f.handle(u); err != nil {
		f.log.Debug("receiver could not apply all changes", "error", err)
	}
}

package nsplugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watch notices deletions of named namespaces.
type watch struct {
	files *fsnotify.Watcher
	on    bool // the directory exists and is watched
}

func (p *Plugin) startWatch() error {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch named network namespaces: %w", err)
	}
	p.watch = &watch{files: files}
	p.Go(p.followDeletions)
	return nil
}

func (p *Plugin) stopWatch() error {
	if p.watch == nil {
		return nil
	}
	return p.watch.files.Close()
}

// watchDirectory starts to watch the directory, once it exists and a namespace in
// it is used: an agent that was given none watches nothing there.
func (p *Plugin) watchDirectory() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watch == nil || p.watch.on {
		return
	}
	err := p.watch.files.Add(p.dir)
	p.watch.on = err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Log.Warn("deletions of named network namespaces will not be noticed", "directory", p.dir, "error", err)
	}
}

func (p *Plugin) followDeletions(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-p.watch.files.Errors: // events may be lost: read the state again
			p.Log.Warn("watching named network namespaces", "error", err)
			p.converge()
		case e := <-p.watch.files.Events:
			if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
				p.deleted(filepath.Base(e.Name))
			}
		}
	}
}

// deleted reacts to the deletion of a named namespace.
func (p *Plugin) deleted(name string) {
	if p.forget != nil {
		p.forget() // an open handle would keep it alive
	}
	p.mu.Lock()
	used := p.used[name]
	delete(p.used, name)
	p.mu.Unlock()
	if !used {
		return
	}
	p.Log.Warn("network namespace in use was deleted; what it had is converged again", "name", name)
	p.converge()
}

// converge notifies the scheduler that Linux may have lost state.
func (p *Plugin) converge() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.epoch == 0 { // before AfterInit
		return
	}
	p.epoch++
	p.Scheduler.SouthboundUp(Southbound, p.epoch)
}

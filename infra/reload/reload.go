// Package reload reloads files when they change, such as certificates, keys
// and lists of tokens, so that a program need not be restarted. It checks the
// files when their content is requested; there is no background goroutine.
package reload

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// interval is the minimum interval between checks of the files.
const interval = time.Second

// Value is a value loaded from files. It may be used concurrently.
type Value[T any] struct {
	files []string
	load  func() (T, error)
	opts  Options

	mu      sync.Mutex
	value   T
	state   string // of the files when they were loaded
	checked time.Time
	problem string // of the last attempt to load; "" if it succeeded
}

// Options are the options of Load.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Changed is called after changed files were loaded, with an error if that
	// failed, but only once for the same error. After an error the value does
	// not change and loading is retried. Get calls it synchronously while other
	// callers wait, so it must not call Get. It may be nil.
	Changed func(error)
}

// Load loads a value from files. Get reloads it when they change. Without
// files the value never changes.
func Load[T any](files []string, load func() (T, error), opts Options) (*Value[T], error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	v := &Value[T]{files: files, load: load, opts: opts, checked: opts.Now(), state: state(files)}
	var err error
	if v.value, err = load(); err != nil {
		return nil, err
	}
	return v, nil
}

// Get returns the value. It checks the files at most once a second.
func (v *Value[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.opts.Now()
	if len(v.files) == 0 || now.Sub(v.checked) < interval {
		return v.value
	}
	v.checked = now
	// The state is read before the files, so that a concurrent write is detected
	// by the next check.
	s := state(v.files)
	if s == v.state && v.problem == "" {
		return v.value
	}
	value, err := v.load()
	if err == nil {
		v.value, v.state, v.problem = value, s, ""
		v.report(nil)
		return v.value
	}
	if text := err.Error(); text != v.problem {
		v.problem = text
		v.report(err)
	}
	return v.value
}

func (v *Value[T]) report(err error) {
	if v.opts.Changed != nil {
		v.opts.Changed(err)
	}
}

// state returns a text that changes with the files, also when symbolic links
// are replaced, as Kubernetes does with mounted secrets.
func state(files []string) string {
	var all []byte
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			all = fmt.Appendf(all, "%v;", err)
			continue
		}
		var inode uint64
		if sys, ok := info.Sys().(*syscall.Stat_t); ok {
			inode = sys.Ino
		}
		all = fmt.Appendf(all, "%d %d %d;", inode, info.Size(), info.ModTime().UnixNano())
	}
	return string(all)
}

// Log returns a function for Options.Changed that logs reloads; what names the
// content ("certificates of the HTTP server").
func Log(log logging.Logger, what, file string) func(error) {
	return func(err error) {
		if err != nil {
			log.Warn("cannot load the changed "+what+"; using the previous ones", "error", err)
			return
		}
		log.Info("reloaded the "+what, "file", file)
	}
}

// WarnOfOpen logs files with secrets that every user of this machine can read.
func WarnOfOpen(log logging.Logger, files ...string) {
	for _, file := range WorldReadable(files...) {
		log.Warn("every user of this machine can read a file with secrets", "file", file, "hint", "chmod o-r")
	}
}

// WorldReadable returns the files that every user of this machine can read. It
// ignores empty names and missing files.
func WorldReadable(files ...string) []string {
	var open []string
	for _, file := range files {
		if file == "" {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o004 != 0 {
			open = append(open, file)
		}
	}
	return open
}

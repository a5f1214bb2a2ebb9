// Package reload keeps what was made of files up to date: certificates, keys
// and lists of tokens are replaced while a program runs, and nobody wants to
// restart it for that. Files are looked at when their content is asked for,
// so there is nothing that runs in the background.
package reload

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// interval is how often files are looked at, at most.
const interval = time.Second

// Value is what was made of some files. It may be used concurrently.
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

// Options are what Load works with.
type Options struct {
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Changed is called when changed files were loaded, with an error if that
	// failed, and not again for the same error; then the value stays what it
	// was and loading is tried again. It is called by who calls Get, with
	// others waiting, and must not call Get. It may be nil.
	Changed func(error)
}

// Load makes a value of files, and remembers how to do it again. Without files
// the value never changes.
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

// Get returns the value; it looks at the files once a second at most.
func (v *Value[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.opts.Now()
	if len(v.files) == 0 || now.Sub(v.checked) < interval {
		return v.value
	}
	v.checked = now
	// The state is taken before the files are read: what is written meanwhile is
	// found the next time.
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

// state is a text that changes with the files, also when links are moved, as
// Kubernetes does with mounted secrets.
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

// WorldReadable returns those of the files that everybody on this machine can read.
// Empty names and files that are not there are left out.
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

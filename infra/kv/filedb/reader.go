package filedb

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

const (
	// maxFile is the maximum number of bytes read of one file; it exceeds the
	// limit of the format, which reports the error.
	maxFile = 256<<20 + 1
	// smallFile is the maximum size of files that are read again periodically
	// although they seem unchanged, in bytes.
	smallFile = 1 << 20
)

// file is the state of one file.
type file struct {
	info    os.FileInfo
	sum     [sha256.Size]byte
	entries []kv.Entry // in effect: the last valid ones; sorted by key
	known   bool       // it has been read without errors
	foreign int
	errs    []error
	emptied bool // it says that it has no entries

	waiting waiting
}

// without reports whether the file has nothing to say although it could be read.
func (f *file) without() bool {
	return f.known && !f.emptied && len(f.entries)+f.foreign+len(f.errs) == 0
}

// reader holds the files as they were last read.
type reader struct {
	format kv.Format
	prefix string
	paths  []string
	skip   string

	seen  listing // the last listing
	files map[string]*file
	ahead map[string]parsed // content read before it settled, by path
	now   func() time.Time
}

type parsed struct {
	sum     [sha256.Size]byte
	content kv.Content
}

func newReader(format kv.Format, prefix string, paths []string, skip string, now func() time.Time) *reader {
	return &reader{now: now, format: format, prefix: prefix, paths: paths, skip: skip, files: map[string]*file{}, ahead: map[string]parsed{}}
}

// look reports whether anything changed since the last look, and whether a
// file that had content is now empty or deleted.
func (r *reader) look() (changed, suspicious bool) {
	now := list(r.paths, r.skip)
	before := r.seen
	r.seen = now
	read := listing{files: map[string]os.FileInfo{}}
	for path, f := range r.files {
		read.files[path] = f.info
	}
	return !now.same(before), now.suspicious(read)
}

// load reads the files that changed, and those selected by force, as listed by
// look. It returns the paths of files with new content.
func (r *reader) load(force func(path string, info os.FileInfo) bool) (changed []string) {
	for path := range r.files {
		if r.seen.files[path] == nil && r.unreadable(path) == nil {
			delete(r.files, path)
			changed = append(changed, path)
		}
	}
	for path, info := range r.seen.files {
		f := r.files[path]
		if f != nil && sameFile(f.info, info) && !f.waiting.active() && !force(path, info) {
			continue
		}
		if f == nil {
			f = &file{}
			r.files[path] = f
		}
		inPlace := f.info != nil && os.SameFile(f.info, info)
		unchanged := sameFile(f.info, info)
		f.info = info
		if unchanged && f.waiting.continues(path, r.now()) {
			continue
		}
		if r.read(path, f, inPlace) {
			changed = append(changed, path)
		}
	}
	clear(r.ahead)
	slices.Sort(changed)
	return changed
}

// readAhead reads large changed files before the change has settled, so that
// load has nothing to do if their content stays the same.
func (r *reader) readAhead() {
	for path, info := range r.seen.files {
		f := r.files[path]
		if info.Size() <= smallFile || f != nil && sameFile(f.info, info) {
			continue
		}
		text, written, err := readFile(path)
		if err != nil || written {
			continue // load reports the error if it persists
		}
		sum := sha256.Sum256(text)
		if f == nil || sum != f.sum {
			r.ahead[path] = parsed{sum, r.format.Read(path, text, r.prefix)}
		}
	}
}

// parse parses a text, unless readAhead did.
func (r *reader) parse(path string, text []byte, sum [sha256.Size]byte) kv.Content {
	if ahead, done := r.ahead[path]; done && ahead.sum == sum {
		return ahead.content
	}
	return r.format.Read(path, text, r.prefix)
}

// unreadable returns why a file, or its directory, cannot be read.
func (r *reader) unreadable(path string) error {
	for p, err := range r.seen.errs {
		if isBelow(path, p) {
			return err
		}
	}
	return nil
}

// isBelow reports whether the path is dir or in it.
func isBelow(path, dir string) bool {
	return path == dir || len(path) > len(dir) && path[:len(dir)] == dir && os.IsPathSeparator(path[len(dir)])
}

// read reads one file; it returns false if the content is unchanged, or if the file is
// probably incomplete. inPlace reports that it was not replaced by another file.
func (r *reader) read(path string, f *file, inPlace bool) bool {
	text, written, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) { // the next look will find that it was deleted
		return false
	}
	if err != nil {
		same := len(f.errs) == 1 && f.errs[0].Error() == err.Error()
		f.errs, f.sum = []error{err}, [sha256.Size]byte{}
		return !same
	}
	sum := sha256.Sum256(text)
	if sum == f.sum {
		f.waiting = waiting{}
		return false
	}
	inPlace = inPlace || f.waiting.inPlace && f.waiting.active()
	if written && f.waiting.begins(r.now(), sum, inPlace, true) {
		return false
	}
	content := r.parse(path, text, sum)
	if inPlace && !content.Broken && lacks(content.Entries, f.entries) && f.waiting.begins(r.now(), sum, inPlace, false) {
		return false
	}
	f.waiting, f.sum = waiting{}, sum
	f.take(content)
	return true
}

// take makes the content of a file the present one, as far as it could be read.
func (f *file) take(content kv.Content) {
	f.errs, f.foreign, f.emptied = content.Errs, content.Foreign, content.Emptied
	if content.Broken {
		return
	}
	entries := content.Entries
	if len(content.Errs) > 0 { // a missing entry may be one with an error
		entries = overlay(f.entries, entries)
	}
	f.entries, f.known = entries, f.known || len(content.Errs) == 0
}

// lacks reports whether an entry of the previous content is missing in the present one.
func lacks(now, before []kv.Entry) bool {
	missing := false
	walk(before, now, func(_, b *kv.Entry) { missing = missing || b == nil })
	return missing
}

// readFile reads a file, and reports whether another process has it open for writing.
func readFile(path string) (text []byte, written bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err = io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", path, err)
	}
	return text, isWritten(f), nil
}

// errs returns the errors in all files, ordered by file.
func (r *reader) errs() []error {
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(r.seen.errs)) {
		errs = append(errs, r.seen.errs[path])
	}
	for _, path := range slices.Sorted(maps.Keys(r.files)) {
		f := r.files[path]
		errs = append(errs, f.errs...)
		if f.waiting.written && r.now().Sub(f.waiting.since) >= tellWritten {
			errs = append(errs, fmt.Errorf("%s: another process has had the file open for writing since %s; the changes take effect when it closes the file, or has not written for %v",
				path, f.waiting.since.UTC().Format(time.TimeOnly), maxWritten))
		}
	}
	return errs
}

// evidence returns what the files say about entries that are missing.
func (r *reader) evidence() kv.Evidence {
	e := kv.Evidence{Places: append([]string{}, r.paths...), Doubtful: maps.Clone(r.seen.doubtful)}
	for _, path := range slices.Sorted(maps.Keys(r.files)) {
		switch f := r.files[path]; {
		case f.emptied:
			e.Emptied = append(e.Emptied, path)
		case f.without() && f.info.Size() == 0:
			e.Doubtful[path] = "the file is empty"
		case f.without():
			e.Doubtful[path] = "the file has no items"
		}
	}
	return e
}

// waiting reports whether a file is waiting to be complete.
func (r *reader) waiting() bool {
	for _, f := range r.files {
		if f.waiting.active() {
			return true
		}
	}
	return false
}

// incomplete returns, in order, the files that were never read without errors,
// and the directories that could never be read.
func (r *reader) incomplete() []string {
	var paths []string
	for path, f := range r.files {
		if !f.known {
			paths = append(paths, path)
		}
	}
	for path := range r.seen.errs {
		if !r.knows(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// knows reports whether the file, or files of the directory, were read before.
func (r *reader) knows(path string) bool {
	for p := range r.files {
		if isBelow(p, path) {
			return true
		}
	}
	return false
}

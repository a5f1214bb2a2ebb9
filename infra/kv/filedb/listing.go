package filedb

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// listing is the list of existing files; links are followed.
type listing struct {
	files map[string]os.FileInfo // by path
	errs  map[string]error       // of files and directories that cannot be looked at
	// missing are the configured paths that do not exist; they may be created
	// later.
	missing []string
	// doubtful are paths in whose place files may have been, with the reasons.
	doubtful map[string]string
}

// list lists the configured paths, without the file skip.
func list(paths []string, skip string) listing {
	l := listing{files: map[string]os.FileInfo{}, errs: map[string]error{}, doubtful: map[string]string{}}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			l.directory(path, skip)
		case errors.Is(err, fs.ErrNotExist) && path != skip:
			l.missing = append(l.missing, path)
			l.doubtful[path] = "does not exist"
		default:
			l.add(path, info, err)
		}
	}
	return l
}

// directory adds the files of a directory, but not of its subdirectories.
func (l *listing) directory(dir, skip string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.add(dir, nil, err)
		return
	}
	found := 0
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if path == skip || !isConfiguration(e.Name()) {
			continue
		}
		found++
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			l.doubtful[path] = "is a directory, expected a file"
			continue
		case errors.Is(err, fs.ErrNotExist) && e.Type()&fs.ModeSymlink != 0:
			l.doubtful[path] = "the target of the link does not exist"
		}
		l.add(path, info, err)
	}
	if found == 0 {
		l.doubtful[dir] = "the directory has no files"
	}
}

// isConfiguration reports whether a file of a directory is read. Hidden files
// belong to editors and volumes.
func isConfiguration(name string) bool {
	return !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "#") &&
		slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(name))
}

func (l *listing) add(path string, info os.FileInfo, err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist): // it may be created later
	case err != nil:
		l.errs[path] = err
	case !info.Mode().IsRegular():
		l.errs[path] = fmt.Errorf("%s: expected a file or a directory, got %v", path, info.Mode().Type())
	default:
		l.files[path] = info
	}
}

// same reports whether two listings show no change, as far as that is visible
// without reading the files.
func (l listing) same(other listing) bool {
	if len(l.files) != len(other.files) || len(l.errs) != len(other.errs) || !slices.Equal(l.missing, other.missing) || !maps.Equal(l.doubtful, other.doubtful) {
		return false
	}
	for path, info := range l.files {
		if !sameFile(info, other.files[path]) {
			return false
		}
	}
	for path, err := range l.errs {
		if o := other.errs[path]; o == nil || o.Error() != err.Error() {
			return false
		}
	}
	return true
}

// suspicious reports whether a file that had content is empty or deleted.
func (l listing) suspicious(before listing) bool {
	for path, info := range before.files {
		if now := l.files[path]; info.Size() > 0 && (now == nil || now.Size() == 0) {
			return true
		}
	}
	return false
}

func sameFile(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// directories returns the directories to watch for all changes: those that are
// read, those that contain the paths, and the targets of links.
func (l listing) directories(paths []string) []string {
	var dirs []string
	for _, path := range paths {
		dirs = append(dirs, filepath.Dir(path))
		if real, err := filepath.EvalSymlinks(path); err == nil {
			if info, err := os.Stat(real); err == nil && info.IsDir() {
				dirs = append(dirs, path)
			}
		}
	}
	for path := range l.files {
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

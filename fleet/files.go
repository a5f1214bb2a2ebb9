package fleet

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// Source is a text with objects.
type Source struct {
	File string // its name in errors
	Text []byte
}

// DecodeAll is Decode for several texts, as one. It also reports what is wrong with the objects of different
// texts together: a kind and name that two of them have, and pools that overlap.
func DecodeAll(sources []Source) (Objects, []error) {
	d := &decoder{first: map[string]document.Position{}}
	for _, s := range sources {
		d.file(s.File, s.Text)
	}
	d.checkPools()
	return d.objects, bounded(d.errs)
}

// Find returns the files with objects at the paths of files and directories. In a directory these are *.yaml,
// *.yml and *.json, sorted by name. Subdirectories are searched, hidden files and directories are not.
// A directory without such files is an error. skip leaves out files of directories; nil skips none.
func Find(paths []string, skip func(file string) bool) (files []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		found, err := findIn(path, skip)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no files with objects (*.yaml, *.yml, *.json)", path)
		}
		files = append(files, found...)
	}
	return Unique(files), nil
}

// Unique returns the files without repetitions.
func Unique(files []string) (list []string) {
	seen := map[string]bool{}
	for _, file := range files {
		if !seen[filepath.Clean(file)] {
			seen[filepath.Clean(file)] = true
			list = append(list, file)
		}
	}
	return list
}

// findIn returns the files in a directory.
func findIn(dir string, skip func(file string) bool) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		hidden := path != dir && entry != nil && entry.Name()[0] == '.'
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return fs.SkipDir
		case hidden, entry.IsDir(), skip != nil && skip(path):
			return nil
		case slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

package containers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/fsnotify/fsnotify"
	"gopkg.in/yaml.v3"
)

// file follows a YAML file with the number of a process for each label:
//
//	web: 1234
//	db: 1240
//
// It is for containers whose engine has no API of Docker, and is written by what starts
// them. The file is replaced (renamed) or written as a whole.
type file struct{ path string }

// File returns the containers that a file lists. A file that does not exist lists none.
func File(path string) Source { return file{path} }

func (f file) String() string { return "the file " + f.path }

func (f file) Follow(ctx context.Context, report func(Update)) error {
	watch, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watch.Close()
	if err := watch.Add(filepath.Dir(f.path)); err != nil {
		return err
	}
	for {
		running, err := f.read()
		if err != nil {
			return err
		}
		report(Update{All: true, Running: running})
		for changed := false; !changed; {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case err := <-watch.Errors:
				return err
			case e := <-watch.Events:
				changed = filepath.Base(e.Name) == filepath.Base(f.path)
			}
		}
	}
}

func (f file) read() ([]Container, error) {
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var pids map[string]int
	if err := yaml.Unmarshal(text, &pids); err != nil {
		return nil, fmt.Errorf("%s: expected lines such as \"web: 1234\", a label and the number of a process: %w", f.path, err)
	}
	var all []Container
	for _, label := range slices.Sorted(maps.Keys(pids)) {
		if pids[label] < 1 {
			return nil, fmt.Errorf("%s: %s: %d, expected the number of a process", f.path, label, pids[label])
		}
		all = append(all, Container{Label: label, ID: f.path + ":" + label, PID: pids[label]})
	}
	return all, nil
}

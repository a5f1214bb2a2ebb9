package orchestrator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/filedb"
)

func fileStore(t *testing.T, paths ...string) kv.Store {
	t.Helper()
	return filedb.NewPlugin(filedb.UseFormat(codec(t)), filedb.UseConf(filedb.Config{ConfigurationPaths: paths}))
}

// If an operator removes a path from configuration-paths, its items are deleted. If a path is missing,
// also a new one that replaces another, all items stay.
func TestConfigurationPathsThatChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		before []string // in the directory of the test; a.yaml and b.yaml have 3 items each
		after  []string
		write  map[string]string // files
		reason string            // empty: it is followed
		left   int
	}{
		{name: "a file is no longer named", before: []string{"a.yaml", "b.yaml"}, after: []string{"b.yaml"}, left: 3},
		{name: "a file instead of its directory", before: []string{"."}, after: []string{"a.yaml"}, left: 3},
		{name: "other files", before: []string{"."}, after: []string{"sub"}, write: map[string]string{"sub/c.yaml": text(4, 7)}, left: 2},
		{name: "a copy elsewhere", before: []string{"a.yaml", "b.yaml"}, after: []string{"sub"}, write: map[string]string{"sub/c.yaml": text(0, 1, 2, 3, 4)}, left: 5},
		{name: "an explicitly empty file", before: []string{"."}, after: []string{"c.yaml"}, write: map[string]string{"c.yaml": "{}"}, left: 0},
		{name: "another path that may appear later", before: []string{"."}, after: []string{".", "later.yaml"}, left: 6},
		{name: "a path that never appeared", before: []string{".", "later.yaml"}, after: []string{"a.yaml", "later.yaml"}, left: 3},
		{name: "a misspelled path", before: []string{"a.yaml", "b.yaml"}, after: []string{"a.yaml", "c.yaml"},
			reason: "b.yaml: no longer configured, and "},
		{name: "a directory that is not mounted", before: []string{"."}, after: []string{"sub"}, write: map[string]string{"sub/README": ""},
			reason: "/sub: the directory has no files; its content would delete 6 of 6 items"},
		{name: "an empty file", before: []string{"a.yaml", "b.yaml"}, after: []string{"c.yaml"}, write: map[string]string{"c.yaml": ""},
			reason: "c.yaml: the file is empty"},
		{name: "no path", before: []string{"."}, after: nil, reason: "no longer configured, and the agent has no other place"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, paths := t.TempDir(), c.before
			write(t, filepath.Join(dir, "a.yaml"), text(0, 1, 2))
			write(t, filepath.Join(dir, "b.yaml"), text(3, 4, 5))
			tampering{
				store: func(t *testing.T) kv.Store {
					var all []string
					for _, path := range paths {
						all = append(all, filepath.Join(dir, path))
					}
					return fileStore(t, all...)
				},
				accident: func(t *testing.T) {
					for name, content := range c.write {
						path := filepath.Join(dir, name)
						fatal(t, os.MkdirAll(filepath.Dir(path), 0o700))
						write(t, path, content)
					}
					paths = c.after
				},
				followed: c.reason == "", reason: c.reason, left: c.left, onlyStop: true,
			}.run(t)
		})
	}
}

// A removed path is a request also if another one is not mounted at the same time. Until all
// is known, nothing is removed.
func TestRemovedPathBesideAMissingOne(t *testing.T) {
	t.Parallel()
	dir, m := t.TempDir(), &memory{}
	a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	write(t, a, text(0, 1, 2))
	write(t, b, text(3, 4, 5))
	first := tampering{store: func(t *testing.T) kv.Store { return fileStore(t, a, b) }}.start(t, nil, m)
	until(t, "the items are configured", func() bool { return first.present() == 6 })
	first.stop()
	fatal(t, os.Remove(b))
	second := tampering{store: func(t *testing.T) kv.Store { return fileStore(t, b) }}.start(t, first.sb, m)
	until(t, "the accident is noticed", func() bool { return second.onlyGuard() != nil })
	if g := second.onlyGuard(); g.Deletes != 3 || g.Items != 3 || second.present() != 6 {
		t.Errorf("guard %+v, %d interfaces; expected that nothing is removed, and that a.yaml is not wanted", g, second.present())
	}
	write(t, b, text(3, 4, 5))
	until(t, "the store is followed, and the request with it", func() bool { return second.onlyGuard() == nil && second.present() == 3 })
	second.stop()
}

// volume is a directory as Kubernetes makes it of a ConfigMap: its files are links into
// ..data, a link to the present version, which is replaced at once.
type volume struct {
	dir      string
	versions int
}

func (v *volume) update(t *testing.T, files map[string]string) {
	t.Helper()
	v.versions++
	version := fmt.Sprintf("..2026_%d", v.versions)
	fatal(t, os.MkdirAll(filepath.Join(v.dir, version), 0o700))
	for name, content := range files {
		write(t, filepath.Join(v.dir, version, name), content)
	}
	fatal(t, os.Symlink(version, filepath.Join(v.dir, "..data_tmp")))
	fatal(t, os.Rename(filepath.Join(v.dir, "..data_tmp"), filepath.Join(v.dir, "..data")))
}

// link creates the links to the files and removes all other links, as the kubelet does
// after it replaced ..data.
func (v *volume) link(t *testing.T, names ...string) {
	t.Helper()
	old, err := filepath.Glob(filepath.Join(v.dir, "*.yaml"))
	fatal(t, err)
	for _, path := range old {
		fatal(t, os.Remove(path))
	}
	for _, name := range names {
		fatal(t, os.Symlink(filepath.Join("..data", name), filepath.Join(v.dir, name)))
	}
}

// Volumes whose links lead to another version of the files.
func TestVolumesThatLie(t *testing.T) {
	t.Parallel()
	whole := map[string]string{"a.yaml": text(0, 1, 2), "b.yaml": text(3, 4, 5)}
	for _, c := range []struct {
		name     string
		paths    []string // in the volume
		accident func(t *testing.T, v *volume)
		reason   string
		left     int
	}{
		{name: "empty version", paths: []string{"."}, reason: "the target of the link does not exist",
			accident: func(t *testing.T, v *volume) { v.update(t, nil) }},
		{name: "empty version without links", paths: []string{"."}, reason: "the directory has no files",
			accident: func(t *testing.T, v *volume) { v.update(t, nil); v.link(t) }},
		{name: "empty version of named files", paths: []string{"a.yaml", "b.yaml"}, reason: "a.yaml: does not exist",
			accident: func(t *testing.T, v *volume) { v.update(t, nil); v.link(t) }},
		{name: "the directory is a link, to an empty one", paths: []string{"..data"}, reason: "the directory has no files",
			accident: func(t *testing.T, v *volume) { v.update(t, nil) }},
		{name: "empty files", paths: []string{"."}, reason: "a.yaml: the file is empty",
			accident: func(t *testing.T, v *volume) { v.update(t, map[string]string{"a.yaml": "", "b.yaml": ""}) }},
		{name: "a key of the ConfigMap deleted", paths: []string{"."}, left: 3, accident: func(t *testing.T, v *volume) {
			v.update(t, map[string]string{"b.yaml": text(3, 4, 5)})
			v.link(t, "b.yaml")
		}},
		{name: "another version", paths: []string{"."}, left: 5,
			accident: func(t *testing.T, v *volume) {
				v.update(t, map[string]string{"a.yaml": text(0, 1), "b.yaml": text(3, 4, 5)})
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var v *volume
			runStore(t, tampering{
				accident: func(t *testing.T) { c.accident(t, v) }, followed: c.reason == "", reason: c.reason, left: c.left,
				repair: func(t *testing.T) { v.update(t, whole); v.link(t, "a.yaml", "b.yaml") },
			}, func(t *testing.T) {
				v = &volume{dir: t.TempDir()}
				v.update(t, whole)
				v.link(t, "a.yaml", "b.yaml")
			}, func() kv.Store {
				var paths []string
				for _, path := range c.paths {
					paths = append(paths, filepath.Join(v.dir, path))
				}
				return fileStore(t, paths...)
			})
		})
	}
}

// A directory that loses half of its files: with more than 20 items that is no request.
func TestDirectoryThatLosesFiles(t *testing.T) {
	t.Parallel()
	const items = 30
	for name, c := range map[string]struct {
		lost     int
		followed bool
	}{"half": {15, false}, "a third": {10, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := ""
			file := func(i int) string { return filepath.Join(dir, fmt.Sprintf("%02d.yaml", i)) }
			fill := func(t *testing.T) {
				for i := range items {
					write(t, file(i), text(i))
				}
			}
			runStore(t, tampering{
				items: items, followed: c.followed, left: items - c.lost, reason: "the store has lost items; its content would delete 15 of 30 items",
				accident: func(t *testing.T) {
					for i := range c.lost {
						fatal(t, os.Remove(file(2*i)))
					}
				},
				repair: fill,
			}, func(t *testing.T) { dir = t.TempDir(); fill(t) }, func() kv.Store { return fileStore(t, dir) })
		})
	}
}

package orchestrator_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/filedb"
)

// unreadable is a file that cannot be read, or not as a whole, while the agent runs or when it
// starts.
type unreadable struct {
	name   string
	named  bool // configuration-paths names the files, not their directory
	spoil  func(t *testing.T, file string)
	health string // part of the health of filedb
}

func (c unreadable) run(t *testing.T) {
	for _, part := range []string{"live", "restart"} {
		t.Run(part, func(t *testing.T) {
			dir, m, tree := t.TempDir(), &memory{}, health.NewTree(nil)
			a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
			write(t, a, text(0, 1, 2))
			write(t, b, text(3, 4, 5))
			agent := tampering{store: func(t *testing.T) kv.Store {
				paths := []string{dir}
				if c.named {
					paths = []string{a, b}
				}
				return filedb.NewPlugin(filedb.UseFormat(codec(t)), filedb.UseConf(filedb.Config{ConfigurationPaths: paths}),
					filedb.UseDeps(func(d *filedb.Deps) { d.Health = tree.Plugin("filedb") }))
			}}
			w := agent.start(t, nil, m)
			until(t, "the items are configured", func() bool { return w.present() == tamperedItems })
			if part == "restart" {
				w.stop()
			}
			w.sb.TakeCalls()
			c.spoil(t, a)
			if part == "restart" {
				w = agent.start(t, w.sb, m)
				w.waitSynced()
				if calls := changes(w.sb); len(calls) > 0 {
					t.Errorf("the restart made %q", calls)
				}
				w.stop()
				w = agent.start(t, nil, m) // the southbound was restarted too
				until(t, "the items are configured again", func() bool { return w.present() == tamperedItems })
				w.sb.TakeCalls()
			}
			until(t, "the file is reported", func() bool {
				h := tree.Snapshot().Plugins[0]
				return h.State == health.Degraded && strings.Contains(h.Error, a) && strings.Contains(h.Error, c.health)
			})
			if n := w.Sources()[0].Items; n != tamperedItems {
				t.Errorf("the source has %d items, want %d", n, tamperedItems)
			}
			write(t, b, text(3, 4, 5, 6)) // the other file is followed
			until(t, "the other file is read", func() bool { return w.present() == tamperedItems+1 })
			for _, call := range changes(w.sb) {
				if !strings.Contains(call, "if06") {
					t.Errorf("the broken file made %s", call)
				}
			}
			clearPath(t, a)
			write(t, a+".new", text(0, 1))
			fatal(t, os.Rename(a+".new", a))
			until(t, "the repaired file is followed", func() bool {
				return w.present() == tamperedItems && tree.Snapshot().Plugins[0].State == health.OK
			})
			w.stop()
		})
	}
}

// clearPath removes a file or directory in which the agent may look for files.
func clearPath(t *testing.T, path string) {
	t.Helper()
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		return // it is replaced at once
	}
	fatal(t, os.RemoveAll(path))
}

// What a file had stays configured if it cannot be read, also over a restart; health names the
// file, the line if there is one, and the reason.
func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	put := func(text string) func(*testing.T, string) {
		return func(t *testing.T, file string) { write(t, file, text) }
	}
	instead := func(make func(file string) error) func(*testing.T, string) {
		return func(t *testing.T, file string) {
			fatal(t, os.Remove(file))
			fatal(t, make(file))
		}
	}
	for _, c := range []unreadable{
		{name: "broken YAML", health: "a.yaml:3:", spoil: put("vppConfig:\n  interfaces:\n  - {name: if00, mtu: 1\n")},
		{name: "another indentation", health: "a.yaml:4:", spoil: put("vppConfig:\n  interfaces:\n  - {name: if00, mtu: 1}\n - {name: if01, mtu: 1}\n")},
		{name: "a list", health: "a.yaml:1:", spoil: put("- {name: if00, mtu: 1}\n")},
		{name: "binary", health: "a.yaml:", spoil: put("\x00\x01\x02\xff")},
		{name: "an unknown field, other items missing", health: "a.yaml:3:", spoil: put("vppConfig:\n  interfaces:\n  - {name: if00, mut: 1}\n")},
		{name: "an unknown group", health: "a.yaml:1:", spoil: put("vppConfg:\n  interfaces:\n  - {name: if00, mtu: 1}\n")},
		{name: "a link to itself", health: "too many levels of symbolic links", spoil: instead(func(file string) error { return os.Symlink(file, file) })},
		{name: "a named pipe", health: "expected a file or a directory", spoil: instead(func(file string) error { return syscall.Mkfifo(file, 0o600) })},
		{name: "named, a link to itself", named: true, health: "too many levels of symbolic links", spoil: instead(func(file string) error { return os.Symlink(file, file) })},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

// A file or directory whose permissions were removed is unknown, not empty. Root may read
// everything, so the test runs as another user.
func TestPermissionsRemoved(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	forbid := func(t *testing.T, file string) { fatal(t, os.Chmod(file, 0)) }
	for _, c := range []unreadable{
		{name: "file of a directory", health: "permission denied", spoil: forbid},
		{name: "named file", named: true, health: "permission denied", spoil: forbid},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t) })
	}
}

// asNobody runs the test in a process of another user.
func asNobody(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "nobody")
	fatal(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const nobody = 65534
	fatal(t, os.Chown(dir, nobody, nobody))
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: "+t.Name()+"/") {
		t.Fatalf("%v\n%s", err, out)
	}
}

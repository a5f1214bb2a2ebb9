package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// value is what the wanted state says about one key.
type value = *structpb.Struct

func content(v value) string { return v.GetFields()["content"].GetStringValue() }

func mode(v value) fs.FileMode {
	if m, err := strconv.ParseUint(v.GetFields()["mode"].GetStringValue(), 8, 9); err == nil {
		return fs.FileMode(m)
	}
	return 0o644
}

func list(v value, field string) (texts []string) {
	for _, element := range v.GetFields()[field].GetListValue().GetValues() {
		texts = append(texts, element.GetStringValue())
	}
	return texts
}

// path is the key without its kind.
func path(key string) string {
	_, path, _ := strings.Cut(key, "/")
	return path
}

// records is the directory, below the root, about the processes that run.
const records = ".run"

func checkPath(path string) error {
	if !filepath.IsLocal(path) || filepath.Clean(path) != path || strings.HasPrefix(path, records) {
		return fmt.Errorf("path %q: expected a clean path below the directory", path)
	}
	return nil
}

// system is everything below a directory.
type system struct{ root string }

func (s system) at(path string) string { return filepath.Join(s.root, path) }

func (s system) record(name string) string { return s.at(filepath.Join(records, name)) }

// open refuses a directory with content that is not ours.
func (s system) open(readOnly bool) error {
	entries, err := os.ReadDir(s.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(s.at(records)); len(entries) > 0 && err != nil {
		return fmt.Errorf("%s is neither empty nor managed by this program: all in it would be removed", s.root)
	}
	if readOnly {
		return nil
	}
	return os.MkdirAll(s.at(records), 0o755)
}

func (s system) makeDir(path string) error                   { return os.Mkdir(s.at(path), 0o755) }
func (s system) setMode(path string, mode fs.FileMode) error { return os.Chmod(s.at(path), mode) }

func (s system) write(path, content string, mode fs.FileMode) error {
	if err := os.WriteFile(s.at(path), []byte(content), 0o600); err != nil {
		return err
	}
	return s.setMode(path, mode)
}

// remove is a success as well if there is nothing.
func (s system) remove(path string) error {
	if err := os.Remove(s.at(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// found reads what exists, by path, as values with the key prefix. All of it
// is ours: the directory is locked, and refused if another program uses it.
func found[M any](prefix string, read func(yield func(path string, fields map[string]any, meta M) error) error) (kvs []api.KV[value, M], err error) {
	err = read(func(path string, fields map[string]any, meta M) error {
		v, err := structpb.NewStruct(fields)
		kvs = append(kvs, api.KV[value, M]{Key: prefix + path, Value: v, Metadata: meta, Origin: api.Recorded})
		return err
	})
	return kvs, err
}

func (s system) dirs(yield func(string, map[string]any, any) error) error {
	return s.walk(func(path string, dir bool) error {
		if !dir {
			return nil
		}
		return yield(path, nil, nil)
	})
}

func (s system) files(yield func(string, map[string]any, any) error) error {
	return s.walk(func(path string, dir bool) error {
		if dir {
			return nil
		}
		text, err := os.ReadFile(s.at(path))
		if err != nil {
			return err
		}
		info, err := os.Stat(s.at(path))
		if err != nil {
			return err
		}
		return yield(path, map[string]any{"content": string(text), "mode": fmt.Sprintf("%#o", info.Mode().Perm())}, nil)
	})
}

func (s system) walk(visit func(path string, dir bool) error) error {
	return filepath.WalkDir(s.root, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && at == s.root:
			return nil
		case err != nil:
			return err
		case at == s.at(records):
			return fs.SkipDir
		}
		path, err := filepath.Rel(s.root, at)
		if err != nil {
			return err
		}
		return visit(path, entry.IsDir())
	})
}

// process is a process that was started.
type process struct {
	pid     int
	started string // by the clock of the kernel, as another process may get the same id
}

// look finds the process with an id, unless it has ended.
func look(pid int) (p process, runs bool) {
	_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // it may be a child of this very program
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if err != nil || len(fields) < 20 || fields[0] == "Z" {
		return p, false
	}
	return process{pid, fields[19]}, true
}

func (p process) runs() bool {
	now, ok := look(p.pid)
	return ok && now == p
}

// launch starts a process that outlives this program, and records it.
func (s system) launch(name string, v value) (p process, err error) {
	command := list(v, "command")
	if len(command) == 0 {
		return p, api.Permanent(errors.New("command: expected the program and its arguments"))
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.SysProcAttr = s.root, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return p, err
	}
	p, _ = look(cmd.Process.Pid)
	err = errors.Join(cmd.Process.Release(), s.note(name, v, p))
	if err != nil {
		err = errors.Join(err, s.kill(name, p))
	}
	return p, err
}

// note writes the record of a process: its id, when it started, and its value.
func (s system) note(name string, v value, p process) error {
	text, err := protojson.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(s.record(name), fmt.Appendf(nil, "%d %s %s", p.pid, p.started, text), 0o600)
}

// kill ends a process, gently for a second; if it has ended, that is a success.
func (s system) kill(name string, p process) error {
	for patience := 100; p.runs(); patience-- {
		signal := syscall.SIGTERM
		if patience < 0 {
			signal = syscall.SIGKILL
		}
		if err := syscall.Kill(p.pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return s.remove(filepath.Join(records, name))
}

// running reads the records of the processes that still run.
func (s system) running(yield func(string, map[string]any, process) error) error {
	entries, err := os.ReadDir(s.at(records))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		text, err := os.ReadFile(s.record(entry.Name()))
		if err != nil {
			return err
		}
		var p process
		if _, err := fmt.Sscan(string(text), &p.pid, &p.started); err != nil || !p.runs() {
			continue // damaged, or ended: it is started again
		}
		var v structpb.Struct
		if err := protojson.Unmarshal([]byte(strings.SplitN(string(text), " ", 3)[2]), &v); err != nil {
			return fmt.Errorf("record of process %s: %w", entry.Name(), err)
		}
		if err := yield(entry.Name(), v.AsMap(), p); err != nil {
			return err
		}
	}
	return nil
}

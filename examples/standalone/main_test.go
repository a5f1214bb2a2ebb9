package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
)

const (
	config   = "dir/etc: {}\nfile/etc/web.conf: {content: one, mode: \"0600\"}\n"
	daemon   = "process/web: {command: [sleep, \"1000\"], files: [etc/web.conf]}\n"
	secondly = "dir/etc: {}\nfile/etc/web.conf: {content: two, mode: \"0600\"}\n"
)

func TestStandalone(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	t.Cleanup(func() { _ = apply(t.Context(), &bytes.Buffer{}, root, nil, false) }) // if it fails half-way
	for _, step := range []struct {
		what, state string
		dryRun      bool
		before      func()
		want        string
	}{
		{what: "plan", state: daemon + config, dryRun: true, want: "+ dir/etc\n+ file/etc/web.conf\n+ process/web\n"},
		{what: "create", state: daemon + config, want: "+ dir/etc\n+ file/etc/web.conf\n+ process/web\n"},
		{what: "again", state: daemon + config, want: "nothing to do\n"},
		{what: "new mode", state: daemon + strings.Replace(config, "0600", "0640", 1), want: "~ file/etc/web.conf\n"},
		{what: "plan of new content", state: daemon + secondly, dryRun: true,
			want: "- process/web\n- file/etc/web.conf\n+ file/etc/web.conf\n+ process/web\n"},
		{what: "new content", state: daemon + secondly, want: "- process/web\n- file/etc/web.conf\n+ file/etc/web.conf\n+ process/web\n"},
		{what: "process killed", state: daemon + secondly, before: func() { killed(t, root) }, want: "+ process/web\n"},
		{what: "file edited", state: daemon + secondly, before: func() { edited(t, root) },
			want: "- process/web\n- file/etc/web.conf\n+ file/etc/web.conf\n+ process/web\n"},
		{what: "file not wanted", state: "dir/etc: {}\n" + daemon, want: "- process/web\n- file/etc/web.conf\n? process/web is PENDING\n"},
		{what: "invalid", state: "file/../passwd: {}\n", want: "- dir/etc\n! file/../passwd: path \"../passwd\": expected a clean path below the directory\n"},
		{what: "nothing", state: "", want: "nothing to do\n"},
	} {
		if step.before != nil {
			step.before()
		}
		var out bytes.Buffer
		if err := apply(t.Context(), &out, root, []byte(step.state), step.dryRun); err != nil && step.what != "invalid" {
			t.Fatalf("%s: %v", step.what, err)
		}
		if out.String() != step.want {
			t.Errorf("%s: got\n%swant\n%s", step.what, &out, step.want)
		}
	}
}

func killed(t *testing.T, root string) {
	t.Helper()
	err := system{root}.running(func(_ string, _ map[string]any, p process) error { return syscall.Kill(p.pid, syscall.SIGKILL) })
	if err != nil {
		t.Fatal(err)
	}
	for p := range started(t, root) {
		_, _ = syscall.Wait4(p.pid, nil, 0, nil) // it is a child of this test
	}
}

// started are the processes on record that have not ended.
func started(t *testing.T, root string) map[process]bool {
	t.Helper()
	all := map[process]bool{}
	err := system{root}.running(func(_ string, _ map[string]any, p process) error { all[p] = true; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func edited(t *testing.T, root string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, "etc/web.conf"), []byte("three"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestStrangeDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := apply(t.Context(), &bytes.Buffer{}, root, nil, false); err == nil || !strings.Contains(err.Error(), "all in it would be removed") {
		t.Errorf("got %v", err)
	}
}

// The descriptors keep what every descriptor promises.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	s := system{t.TempDir()}
	if err := s.open(false); err != nil {
		t.Fatal(err)
	}
	sample := func(key string, fields map[string]any) kvstest.Sample {
		v, err := structpb.NewStruct(fields)
		if err != nil {
			t.Fatal(err)
		}
		return kvstest.Sample{Key: key, Value: v}
	}
	dir := sample("dir/etc", nil)
	file := sample("file/etc/a", map[string]any{"content": "1"})
	fileSamples := []kvstest.Sample{
		file,
		sample("file/etc/a", map[string]any{"content": "1", "mode": "0600"}),
		sample("file/etc/a", map[string]any{"content": "2", "mode": "0600"}),
		sample("file/b", nil),
	}
	sleep := sample("process/p", map[string]any{"command": []any{"sleep", "1000"}, "files": []any{"etc/a"}})
	longer := sample("process/p", map[string]any{"command": []any{"sleep", "2000"}})
	dirs, fs, ps := directories(s), files(s), processes(s)
	kvstest.CheckSamples(t, append(fileSamples, dir, sleep, longer), dirs, fs, ps)
	t.Run("dir", func(t *testing.T) {
		kvstest.Conform(t, dirs, []kvstest.Sample{dir, sample("dir/etc/conf.d", nil)})
	})
	t.Run("file", func(t *testing.T) {
		kvstest.Conform(t, fs, fileSamples, kvstest.Alongside([]kvstest.Sample{dir}, dirs))
	})
	t.Run("process", func(t *testing.T) {
		kvstest.Conform(t, ps, []kvstest.Sample{sleep, longer}, kvstest.Alongside([]kvstest.Sample{dir, file}, dirs, fs))
	})
}

package filedb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/filedb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is a format for tests: "key = value", one a line; a line without "="
// is an error, and "BROKEN" breaks the file.
type lines struct{}

func (lines) Read(file string, text []byte, prefix string) (c kv.Content) {
	for i, line := range strings.Split(string(text), "\n") {
		key, value, ok := strings.Cut(line, " = ")
		switch {
		case line == "":
		case line == "BROKEN":
			return kv.Content{Broken: true, Errs: []error{fmt.Errorf("%s:%d: broken", filepath.Base(file), i+1)}}
		case !ok:
			c.Errs = append(c.Errs, fmt.Errorf("%s:%d: bad line", filepath.Base(file), i+1))
		case strings.HasPrefix(key, "/") && !strings.HasPrefix(key, prefix):
			c.Foreign++
		default:
			c.Entries = append(c.Entries, kv.Entry{
				Key: strings.TrimPrefix(key, prefix), Value: kv.Decoded{Message: wrapperspb.String(value)}, Location: kv.At(filepath.Base(file)),
			})
		}
	}
	slices.SortFunc(c.Entries, func(a, b kv.Entry) int { return strings.Compare(a.Key, b.Key) })
	return c
}

// store is a running plugin whose updates arrive as text.
type store struct {
	*filedb.Plugin
	t       *testing.T
	clock   *clock
	dir     string
	updates chan string
}

func start(t *testing.T, dir string, paths ...string) *store {
	t.Helper()
	s := &store{t: t, clock: newClock(), dir: dir, updates: make(chan string, 100)}
	if paths == nil {
		paths = []string{dir}
	}
	s.Plugin = filedb.NewPlugin(filedb.UseFormat(lines{}), filedb.UseClock(s.clock), filedb.UseConf(filedb.Config{
		ConfigurationPaths: paths, StatusPath: filepath.Join(dir, "status.json"),
	}))
	agenttest.Start(t, s.Plugin)
	s.Go(func(ctx context.Context) {
		err := s.Watch(ctx, "/vnf-agent/vpp1/", func(u kv.Update) error {
			s.updates <- render(u)
			return errors.New("cannot be applied")
		})
		if err != nil {
			t.Error(err)
		}
	})
	return s
}

func render(u kv.Update) string {
	var parts []string
	if u.Resync {
		parts = append(parts, "resync")
	}
	for _, ch := range u.Changes {
		if ch.Deleted {
			parts = append(parts, "-"+ch.Key)
			continue
		}
		v := new(wrapperspb.StringValue)
		if err := ch.Value.Decode(v); err != nil {
			return err.Error()
		}
		text := ch.Key + "=" + v.Value
		if ch.Disputed {
			text += "(disputed)"
		}
		parts = append(parts, text)
	}
	for _, path := range u.Incomplete {
		parts = append(parts, "?"+filepath.Base(path))
	}
	return strings.Join(parts, " ")
}

// want lets time pass until the next update.
func (s *store) want(update string) {
	s.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(2 * time.Minute); ; {
		select {
		case got := <-s.updates:
			if got != update {
				s.t.Fatalf("update %q, want %q", got, update)
			}
			return
		case <-tick.C:
			s.clock.pass(50 * time.Millisecond)
		case <-late:
			s.t.Fatalf("no update, want %q", update)
		}
	}
}

func (s *store) write(name, text string) {
	s.t.Helper()
	write(s.t, filepath.Join(s.dir, name), text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	infratest.Fatal(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestFilesComeChangeAndGo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "later")
	s := start(t, dir)
	s.want("resync")
	infratest.Fatal(t, os.Mkdir(dir, 0o700))
	s.write("a.yaml", "x = 1\ny = 1\n/vnf-agent/vpp1/z = 1\n/vnf-agent/other/w = 1\n")
	s.want("x=1 y=1 z=1")
	s.write("a.yaml", "x = 2\n")
	s.want("x=2 -y -z")
	s.write("notes.txt", "n = 1\n")
	s.write(".hidden.yaml", "h = 1\n")
	s.write("b.json", "b = 1\n")
	s.want("b=1")
	infratest.Fatal(t, os.Remove(filepath.Join(dir, "a.yaml")))
	s.want("-x")
	infratest.Fatal(t, os.RemoveAll(dir))
	s.want("-b")
	infratest.Fatal(t, os.Mkdir(dir, 0o700))
	s.write("c.yml", "c = 1\n")
	s.want("c=1")
}

func TestNamedFileOfAnyKind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "net.txt"), "x = 1\n")
	s := start(t, dir, filepath.Join(dir, "net.txt"))
	s.want("resync x=1")
	s.write("other.yaml", "o = 1\n")
	s.write("net.txt", "x = 2\n")
	s.want("x=2")
}

// An editor writes a new file and renames it over the old one, keeping a copy.
func TestAtomicSaveIsOneChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "x = 1\ny = 1\n")
	s := start(t, dir)
	s.want("resync x=1 y=1")
	for i := 2; i < 5; i++ {
		infratest.Fatal(t, os.Rename(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "a.yaml~")))
		s.write(".a.swp", "")
		s.write("a.yaml", "")
		s.write("a.yaml", fmt.Sprintf("x = %d\n", i))
		s.write("a.yaml", fmt.Sprintf("x = %d\ny = %d\n", i, i))
		s.want(fmt.Sprintf("x=%d y=%d", i, i))
		s.write("new", fmt.Sprintf("x = %d%d\ny = %d\n", i, i, i))
		infratest.Fatal(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "a.yaml")))
		s.want(fmt.Sprintf("x=%d%d", i, i))
	}
}

// A mounted volume changes all its files by one swap of a link.
func TestLinkSwapIsOneChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	volume := func(gen int) {
		real := filepath.Join(dir, fmt.Sprintf("..gen%d", gen))
		infratest.Fatal(t, os.Mkdir(real, 0o700))
		write(t, filepath.Join(real, "a.yaml"), fmt.Sprintf("a = %d\n", gen))
		write(t, filepath.Join(real, "b.yaml"), fmt.Sprintf("b = %d\n", gen))
		infratest.Fatal(t, os.Symlink(filepath.Base(real), filepath.Join(dir, "..data_tmp")),
			os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
		infratest.Fatal(t, os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..gen%d", gen-1))))
	}
	volume(1)
	infratest.Fatal(t, os.Symlink("..data/a.yaml", filepath.Join(dir, "a.yaml")), os.Symlink("..data/b.yaml", filepath.Join(dir, "b.yaml")))
	s := start(t, dir)
	s.want("resync a=1 b=1")
	for gen := 2; gen < 5; gen++ {
		volume(gen)
		s.want(fmt.Sprintf("a=%d b=%d", gen, gen))
	}
}

func TestBrokenFileKeepsWhatItSaid(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.want("resync")
	s.write("a.yaml", "x = 1\ny = 1\n")
	s.want("x=1 y=1")
	s.write("a.yaml", "BROKEN\n")
	s.write("b.yaml", "b = 1\n")
	s.want("b=1")
	s.write("a.yaml", "x = 2\ny\n") // the bad line may be what y became
	s.want("x=2")
	s.write("a.yaml", "x = 2\nz = 1\n")
	s.want("-y z=1")
}

// A file that was never valid is reported as missing until it is fixed or deleted.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "BROKEN\n")
	write(t, filepath.Join(dir, "b.yaml"), "b = 1\nbad\n")
	write(t, filepath.Join(dir, "c.yaml"), "BROKEN\n")
	write(t, filepath.Join(dir, "d.yaml"), "d = 1\n")
	s := start(t, dir)
	s.want("resync b=1 d=1 ?a.yaml ?b.yaml ?c.yaml")
	infratest.Fatal(t, os.Remove(filepath.Join(dir, "c.yaml")))
	s.want("?a.yaml ?b.yaml")
	s.write("a.yaml", "a = 1\nbad\n")
	s.want("a=1 ?a.yaml ?b.yaml")
	s.write("b.yaml", "b = 1\n")
	s.want("?a.yaml")
	s.write("a.yaml", "")
	s.want("-a")
	s.write("b.yaml", "BROKEN\n")
	s.write("d.yaml", "d = 2\nbad\n") // what they said before stays in effect
	s.want("d=2")
}

// A key with different values in several files keeps the value that is in effect.
func TestConflictKeepsWhatIsInEffect(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	remove := func(names ...string) {
		t.Helper()
		for _, name := range names {
			infratest.Fatal(t, os.Remove(filepath.Join(s.dir, name)))
		}
	}
	s.want("resync")
	s.write("b.yaml", "x = b\n")
	s.want("x=b")
	s.write("c.yaml", "x = c\nc = c\n")
	s.want("c=c")
	s.write("a.yaml", "x = a\na = a\n")
	s.want("a=a")
	s.write("b.yaml", "x = b2\nb = b\n") // a conflict is not resolved by another value
	s.want("b=b")
	remove("b.yaml")
	s.want("-b") // a and c still differ
	remove("a.yaml")
	s.want("-a x=c")
	s.write("a.yaml", "x = a\na = 2\n")
	s.want("a=2")
	s.write("a.yaml", "x = c\n") // identical values are no conflict
	s.want("-a")
	s.write("a.yaml", "x = a\na = 3\n")
	s.want("a=3")
	s.write("c.yaml", "c = 2\n")
	s.want("c=2 x=a")
	remove("a.yaml")
	s.want("-a -x")
	s.write("a.yaml", "n = 1\n")
	s.want("n=1")
	remove("a.yaml", "c.yaml")
	s.want("-c -n")
}

// A conflict that exists at the start is reported with the value of the last file as
// disputed, until it is resolved.
func TestConflictAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		write(t, filepath.Join(dir, name+".yaml"), "same = 1\nx = "+name+"\n")
	}
	s := start(t, dir)
	s.want("resync same=1 x=c(disputed)")
	infratest.Fatal(t, os.Remove(filepath.Join(dir, "c.yaml")))
	s.write("d.yaml", "d = 1\n")
	s.want("d=1 same=1") // its location changes; a and b still differ
	infratest.Fatal(t, os.Remove(filepath.Join(dir, "b.yaml")))
	s.want("same=1 x=a")
}

func TestPublish(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.want("resync")
	infratest.Fatal(t, s.Put("b", wrapperspb.String("2")), s.Put("a", wrapperspb.String("1")), s.Put("b", nil))
	text, err := os.ReadFile(filepath.Join(s.dir, "status.json"))
	if want := "{\n  \"data\": [\n    {\n      \"key\": \"a\",\n      \"value\": \"1\"\n    }\n  ]\n}\n"; err != nil || string(text) != want {
		t.Errorf("status file %v:\n%s\nwant\n%s", err, text, want)
	}
	infratest.Fatal(t, s.PutAll(map[string]proto.Message{"a": nil, "b": wrapperspb.String("2"), "c": wrapperspb.String("3"), "none": nil}))
	text, err = os.ReadFile(filepath.Join(s.dir, "status.json"))
	if err != nil || strings.Contains(string(text), `"1"`) || !strings.Contains(string(text), `"2"`) || !strings.Contains(string(text), `"3"`) {
		t.Errorf("status file %v:\n%s\nwant 2 and 3", err, text)
	}
	infratest.Fatal(t, s.PutAll(map[string]proto.Message{"a": wrapperspb.String("1"), "b": nil, "c": nil}))
	if existed, err := s.Delete("a/", kv.WithPrefix()); existed || err != nil {
		t.Errorf("delete of nothing: %v, %v", existed, err)
	}
	infratest.Fatal(t, s.Put("ab", wrapperspb.String("1")), s.Put("b", wrapperspb.String("1")))
	for _, key := range []string{"b", "a"} {
		if existed, err := s.Delete(key, kv.WithPrefix()); !existed || err != nil {
			t.Errorf("delete %s: %v, %v", key, existed, err)
		}
	}
	text, err = os.ReadFile(filepath.Join(s.dir, "status.json"))
	if want := "{\n  \"data\": []\n}\n"; err != nil || string(text) != want {
		t.Errorf("status file %v:\n%s\nwant\n%s", err, text, want)
	}
	for _, opt := range []kv.PutOption{kv.WithTTL(time.Minute), kv.WithClientLifetimeTTL()} {
		for _, err := range []error{s.Put("x", nil, opt), s.PutAll(map[string]proto.Message{"x": nil}, opt)} {
			if !errors.Is(err, kv.ErrNotSupported) {
				t.Errorf("put with a TTL: %v", err)
			}
		}
	}
	s.write("a.yaml", "x = 1\n") // and the status file is not read back
	s.want("x=1")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(filedb.DefaultConfig()); err != nil {
		t.Error(err)
	}
	p := filedb.NewPlugin()
	agenttest.Start(t, p)
	if !p.Disabled() {
		t.Error("enabled without a configuration")
	}
	p = filedb.NewPlugin(filedb.UseFormat(lines{}))
	p.Cfg = config.Text("filedb", "configuration-paths: [x]")
	agenttest.Start(t, p)
	if p.Disabled() {
		t.Error("disabled although there is a configuration")
	}
	if err := p.Put("a", nil); err == nil || !strings.Contains(err.Error(), "status-path") {
		t.Errorf("put without a status file: %v", err)
	}
}

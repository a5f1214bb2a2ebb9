package containers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/internal/containers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// follow follows a source until the test ends, and returns its updates, and why it ended.
func follow(t *testing.T, s containers.Source) (updates chan containers.Update, ended chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	updates, ended = make(chan containers.Update, 100), make(chan error, 1)
	over := make(chan struct{})
	go func() {
		ended <- s.Follow(ctx, func(u containers.Update) { updates <- u })
		close(over)
	}()
	t.Cleanup(func() { cancel(); <-over })
	return updates, ended
}

func expect(t *testing.T, updates chan containers.Update, want containers.Update) {
	t.Helper()
	if got := <-updates; !reflect.DeepEqual(got, want) {
		t.Errorf("update is %+v, expected %+v", got, want)
	}
}

// engines are the kinds of engines.
var engines = map[string]struct {
	listen func(e *linuxtest.Engine)
	source func(socket string, timeout time.Duration) containers.Source
}{
	"docker": {(*linuxtest.Engine).Listen, containers.Docker},
	"cri":    {(*linuxtest.Engine).ListenCRI, containers.CRI},
}

func TestEngines(t *testing.T) {
	t.Parallel()
	for name, kind := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := linuxtest.NewEngine(t)
			kind.listen(e)
			web, pid := e.Run("web")
			e.Run("") // has no label
			updates, ended := follow(t, kind.source(e.Socket, containers.RequestTimeout))
			expect(t, updates, containers.Update{All: true, Running: []containers.Container{{Label: "web", ID: web, PID: pid}}})
			e.Run("")
			db, dbPID := e.Run("engine:db")
			expect(t, updates, containers.Update{Running: []containers.Container{{Label: "db", ID: db, PID: dbPID}}})
			e.Stop(web)
			expect(t, updates, containers.Update{Stopped: []string{web}})
			e.Close()
			if err := <-ended; err == nil || !strings.Contains(err.Error(), "the stream of events ended") {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// An engine that takes requests and does not answer is not available.
func TestEngineHangs(t *testing.T) {
	t.Parallel()
	for name, kind := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := linuxtest.NewEngine(t)
			kind.listen(e)
			e.Hang()
			_, ended := follow(t, kind.source(e.Socket, 10*time.Millisecond))
			if err := <-ended; err == nil || !strings.Contains(err.Error(), "timeout") && status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestNoDocker(t *testing.T) {
	t.Parallel()
	_, ended := follow(t, containers.Docker(filepath.Join(t.TempDir(), "docker.sock"), containers.RequestTimeout))
	if err := <-ended; !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "http://") {
		t.Errorf("ended with %v", err)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "containers.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	updates, ended := follow(t, containers.File(path))
	expect(t, updates, containers.Update{All: true}) // there is no file yet
	write("web: 12\ndb: 13\n")
	want := containers.Update{All: true, Running: []containers.Container{{Label: "db", ID: path + ":db", PID: 13}, {Label: "web", ID: path + ":web", PID: 12}}}
	for got := (containers.Update{}); !reflect.DeepEqual(got, want); got = <-updates {
		if len(got.Running) == 1 {
			t.Errorf("update is %+v", got)
		}
	}
	write("web: -1\n")
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "web: -1, expected the number of a process") {
		t.Errorf("ended with %v", err)
	}
	write("- web\n")
	_, ended = follow(t, containers.File(path))
	if err := <-ended; err == nil || !strings.Contains(err.Error(), `expected lines such as "web: 1234"`) {
		t.Errorf("ended with %v", err)
	}
}

// Whatever is reported, the index has the container of each label that was reported first,
// and the changes lead from one state to the next.
func TestIndex(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := containers.NewIndex()
		type known struct {
			containers.Container
			source string
		}
		var model []known // in the order of the reports
		told := map[string]containers.Container{}
		remove := func(match func(k known) bool) {
			var left []known
			for _, k := range model {
				if !match(k) {
					left = append(left, k)
				}
			}
			model = left
		}
		for range rapid.IntRange(1, 12).Draw(t, "updates") {
			source := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "source")
			u := containers.Update{All: rapid.Bool().Draw(t, "all")}
			runs := map[string]bool{}
			for range rapid.IntRange(0, 3).Draw(t, "running") {
				id := source + rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "id")
				if !runs[id] {
					runs[id] = true
					u.Running = append(u.Running, containers.Container{
						Label: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "label"), ID: id, PID: rapid.IntRange(1, 2).Draw(t, "pid"),
					})
				}
			}
			if rapid.Bool().Draw(t, "stops") {
				u.Stopped = []string{source + "1"}
			}
			remove(func(k known) bool {
				return len(u.Stopped) > 0 && k.ID == u.Stopped[0] || u.All && k.source == source && !runs[k.ID]
			})
			for _, c := range u.Running {
				same := false
				for _, k := range model {
					same = same || k.Container == c
				}
				if !same {
					remove(func(k known) bool { return k.ID == c.ID })
					model = append(model, known{c, source})
				}
			}
			changes, _ := x.Apply(source, u)
			for _, ch := range changes {
				if was, had := told[ch.Label]; had != (ch.Was != nil) || had && was != *ch.Was {
					t.Fatalf("change of %s is from %v, it was %v", ch.Label, ch.Was, was)
				}
				delete(told, ch.Label)
				if ch.Now != nil {
					told[ch.Label] = *ch.Now
				}
			}
			want := map[string]containers.Container{}
			for _, k := range model {
				if _, has := want[k.Label]; !has {
					want[k.Label] = k.Container
				}
			}
			if !reflect.DeepEqual(told, want) {
				t.Fatalf("the changes led to %v, expected %v", told, want)
			}
			if all := x.All(); len(all) != len(want) {
				t.Fatalf("all are %v, expected %v", all, want)
			}
			for label, c := range want {
				if got, ok := x.Lookup(label); !ok || got != c {
					t.Fatalf("%s is %v, expected %v", label, got, c)
				}
			}
		}
	})
}

func ExampleContainer_Namespace() {
	fmt.Println(containers.Container{Label: "web", PID: 1234}.Namespace())
	// Output: /proc/1234/ns/net
}

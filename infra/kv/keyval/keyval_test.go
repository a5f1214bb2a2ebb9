package keyval_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/keyval"
)

// fake is a connector whose updates a test sends.
type fake struct {
	kv.DB
	updates chan kv.Update
	wg      sync.WaitGroup
}

func (f *fake) store(ctx context.Context) func() keyval.Store {
	return func() keyval.Store {
		return keyval.Store{
			Name: "fake", DB: f, Timeout: time.Second, Context: ctx,
			Watch: func(ctx context.Context, _ string, handle func(kv.Update) error) error {
				for {
					select {
					case <-ctx.Done():
						return nil
					case u := <-f.updates:
						if err := handle(u); err != nil {
							return err
						}
					}
				}
			},
			Go: func(do func(context.Context)) { f.wg.Go(func() { do(ctx) }) },
		}
	}
}

func put(key, text string) kv.Change {
	return kv.Change{Entry: kv.Entry{Key: key, Value: kv.Encoded(`{"text":"` + text + `"}`)}}
}

func resync(changes ...kv.Change) kv.Update { return kv.Update{Resync: true, Changes: changes} }

// A store that is connected late reports the values that it has, and what changed while it
// was not connected is found in its content.
func TestLateStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fake{updates: make(chan kv.Update)}
		var got []string
		note := func(r keyval.ProtoWatchResp) {
			var value structpb.Struct
			line := r.GetKey() + " deleted"
			if r.GetChangeType() == datasync.Put {
				if err := r.GetValue(&value); err != nil {
					t.Error(err)
				}
				line = r.GetKey() + " = " + value.Fields["text"].GetStringValue()
			}
			got = append(got, line)
		}
		begin := time.Now()
		infratest.Fatal(t, keyval.NewWatcher(f.store(ctx), "/me/").Watch(note, nil, "a/"))
		if waited := time.Since(begin); waited != time.Second {
			t.Errorf("Watch waited %v for the store, expected the timeout of 1s", waited)
		}
		f.updates <- resync(put("1", "one"), put("2", "two"))
		f.updates <- resync(put("2", "two"), put("3", "three"))
		f.updates <- kv.Update{Changes: []kv.Change{{Entry: kv.Entry{Key: "3"}, Deleted: true}}}
		synctest.Wait()
		cancel()
		f.wg.Wait()
		if want := []string{"a/1 = one", "a/2 = two", "a/3 = three", "a/1 deleted", "a/3 deleted"}; !slices.Equal(got, want) {
			t.Errorf("reported %q, expected %q", got, want)
		}
	})
}

// The content at the beginning is not reported, and a closed channel ends all watches.
func TestCloseChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{updates: make(chan kv.Update, 1)}
		f.updates <- resync(put("1", "one"))
		changes, closing := make(chan keyval.ProtoWatchResp), make(chan string)
		infratest.Fatal(t, keyval.NewWatcher(f.store(t.Context()), "/me/").Watch(keyval.ToChanProto(changes), closing, "a/"))
		f.updates <- kv.Update{Changes: []kv.Change{put("1", "two")}}
		synctest.Wait() // it waits for the receiver
		close(closing)
		f.wg.Wait()
	})
}

func TestDisabled(t *testing.T) {
	t.Parallel()
	none := func() keyval.Store { return keyval.Store{Name: "none", Context: t.Context()} }
	broker, value := keyval.NewBroker(none, "/me/"), &structpb.Struct{}
	_, listValues := broker.ListValues("")
	_, listKeys := broker.ListKeys("")
	_, _, get := broker.GetValue("a", value)
	_, del := broker.Delete("a")
	for call, err := range map[string]error{
		"Put": broker.Put("a", value), "Delete": del, "GetValue": get, "ListValues": listValues, "ListKeys": listKeys,
		"Commit": broker.NewTxn().Put("a", value).Commit(t.Context()),
		"Watch":  keyval.NewWatcher(none, "/me/").Watch(func(keyval.ProtoWatchResp) {}, nil, "a"),
	} {
		if !errors.Is(err, kv.ErrDisabled) {
			t.Errorf("%s: %v, expected %v", call, err, kv.ErrDisabled)
		}
	}
	some := &fake{}
	if err := keyval.NewWatcher(some.store(t.Context()), "/me/").Watch(func(keyval.ProtoWatchResp) {}, nil); err == nil {
		t.Error("no error for a watch of no keys")
	}
}

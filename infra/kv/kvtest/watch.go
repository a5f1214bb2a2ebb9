package kvtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// updateLog records the updates of a watch.
type updateLog struct {
	b       *bench
	monitor monitor // guards text
	text    string
}

func newUpdateLog(b *bench) *updateLog { return &updateLog{b: b, monitor: newMonitor()} }

func (t *updateLog) add(text string) {
	t.monitor.change(func() { t.text = strings.TrimPrefix(t.text+"; "+text, "; ") })
}

// await waits until the recorded updates, joined, are the text.
func (t *updateLog) await(want string) {
	t.b.Helper()
	t.monitor.await(t.b.ctx, t.b, func() bool { return t.text == want },
		func() string { return fmt.Sprintf("got %q, want %q", t.text, want) })
}

// inBackground runs a watch until the end of the test.
func (b *bench) inBackground(watch func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- watch(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("the watch ended with %v", err)
		}
	})
}

// ttl lets an entry expire, and keeps one by putting it again without a TTL. A
// follower does not see an entry that expires before it reads, so the test waits
// until the entry is known before its TTL starts.
func ttl(b *bench) {
	err := b.db.Put(b.ctx, b.prefix+"kept", []byte("1"), kv.WithTTL(time.Second))
	if !b.db.Features().TTL {
		b.unsupported("TTL", err)
		b.unsupported("TTL", b.c.Put(b.prefix+"x", wrapperspb.Bool(true), kv.WithTTL(time.Hour)))
		return
	}
	if shortest := b.db.Features().MinTTL; shortest > time.Second {
		b.unsupported("a short TTL", err)
		for _, value := range []string{"1", "2"} {
			b.ok(b.db.Put(b.ctx, b.prefix+"kept", []byte(value), kv.WithTTL(time.Hour)))
		}
		b.want(b.prefix, "kept=2")
		b.put("kept", "3")
		b.ok(b.db.Put(b.ctx, b.prefix+"gone", []byte("1"), kv.WithTTL(shortest)))
		watched := Record(b.TB, b.c, b.prefix)
		watched.Await(1, "gone=1 kept=3")
		watched.Await(1, "kept=3") // the store decides when
		return
	}
	b.ok(err)
	b.put("kept", "2")
	b.put("gone", "1")
	watched := Record(b.TB, b.c, b.prefix)
	watched.Await(1, "gone=1 kept=2")
	b.ok(b.db.Put(b.ctx, b.prefix+"gone", []byte("1"), kv.WithTTL(time.Second)))
	b.ok(b.c.Put(b.prefix+"long", wrapperspb.Bool(true), kv.WithTTL(time.Hour)))
	watched.Await(1, "kept=2 long=true")
	if _, err := b.db.Get(b.ctx, b.prefix+"gone"); !errors.Is(err, kv.ErrNotFound) {
		b.Errorf("get of an expired entry: %v", err)
	}
	b.ok(b.db.Put(b.ctx, b.prefix+"short", []byte("1"), kv.WithTTL(-1)))
}

// clientLifetime stops the client that published an entry.
func clientLifetime(b *bench) {
	key := b.prefix + "mine"
	client, stop := b.suite.Connect(b.TB)
	err := client.Put(key, wrapperspb.Bool(true), kv.WithClientLifetimeTTL())
	if !b.db.Features().ClientTTL {
		b.unsupported("a TTL of the client's lifetime", err)
		return
	}
	b.ok(err)
	b.ok(client.Put(b.prefix+"again", wrapperspb.Int64(1), kv.WithClientLifetimeTTL()))
	b.ok(client.Put(b.prefix+"again", wrapperspb.Int64(2)))
	b.ok(client.Put(b.prefix+"deleted", wrapperspb.Int64(1), kv.WithClientLifetimeTTL()))
	if existed, err := client.Delete(b.prefix + "deleted"); err != nil || !existed {
		b.Errorf("delete: %v, %v", existed, err)
	}
	if _, err := b.db.Get(b.ctx, key); err != nil {
		b.Errorf("get while the client lives: %v", err)
	}
	stop()
	b.want(b.prefix, `again="2"`)
}

// watchFrom checks that history is reported exactly, from any revision.
func watchFrom(b *bench) {
	if !b.db.Features().Revisions {
		b.unsupported("WatchFrom", b.db.WatchFrom(b.ctx, b.prefix, 1, func([]kv.Event) error { return nil }))
		return
	}
	b.put("a", "1")
	l := b.want(b.prefix, "a=1")
	put := func(key, value string) kv.Op { return kv.Op{Key: b.prefix + key, Value: []byte(value)} }
	b.put("a", "2")
	b.ok(b.db.Put(b.ctx, "/elsewhere", []byte("x")))
	b.ok(b.db.Txn(b.ctx, put("b", "1"), kv.Op{Key: b.prefix + "a"}, put("c", "1")))
	for _, from := range []int64{l.Revision, l.Revision + 1} {
		watched, last := newUpdateLog(b), l.Revision
		b.inBackground(func(ctx context.Context) error {
			return b.db.WatchFrom(ctx, b.prefix, from, func(events []kv.Event) error {
				watched.add(text(b.prefix, events))
				for _, ev := range events {
					if ev.Revision != events[0].Revision {
						b.Errorf("events of several revisions at once: %+v", events)
					}
				}
				if events[0].Revision <= last {
					b.Errorf("revision %d after %d", events[0].Revision, last)
				}
				last = events[0].Revision
				return nil
			})
		})
		want := "a=2; -a b=1 c=1"
		if from > l.Revision {
			want = "-a b=1 c=1"
		}
		watched.await(want)
		if from > l.Revision {
			continue
		}
		b.put("a", "3")
		_, err := b.db.Delete(b.ctx, b.prefix, kv.WithPrefix())
		b.ok(err)
		watched.await(want + "; a=3; -a -b -c")
		b.put("b", "1")
		b.put("c", "1")
		_, err = b.db.Delete(b.ctx, b.prefix, kv.WithPrefix())
		b.ok(err)
		return
	}
}

// history checks that a store reports ErrCompacted for unknown history, and
// that an error of the receiver ends the watch.
func history(b *bench) {
	if !b.db.Features().Revisions {
		return
	}
	l := b.want(b.prefix)
	none := func([]kv.Event) error { return nil }
	if err := b.db.WatchFrom(b.ctx, b.prefix, l.Revision+1000, none); !errors.Is(err, kv.ErrCompacted) {
		b.Errorf("watch from the future: %v, want ErrCompacted", err)
	}
	b.put("a", "1")
	stop := errors.New("stop")
	if err := b.db.WatchFrom(b.ctx, b.prefix, l.Revision, func([]kv.Event) error { return stop }); !errors.Is(err, stop) {
		b.Errorf("watch ended by the receiver: %v", err)
	}
	if c, ok := b.db.(interface {
		Compact(ctx context.Context, revision int64) error
	}); ok {
		l = b.want(b.prefix, "a=1")
		b.put("a", "2")
		now := b.want(b.prefix, "a=2")
		b.ok(c.Compact(b.ctx, now.Revision))
		if err := b.db.WatchFrom(b.ctx, b.prefix, l.Revision-1, none); !errors.Is(err, kv.ErrCompacted) {
			b.Errorf("watch from a compacted revision: %v", err)
		}
	}
}

func text(prefix string, events []kv.Event) string {
	var texts []string
	for _, ev := range events {
		key := strings.TrimPrefix(ev.Key, prefix)
		if ev.Deleted {
			texts = append(texts, "-"+key)
		} else {
			texts = append(texts, key+"="+string(ev.Value))
		}
	}
	return joinByKey(texts)
}

// joinByKey joins texts that begin with a key, or with a dash and a key.
func joinByKey(texts []string) string {
	slices.SortFunc(texts, func(a, b string) int { return strings.Compare(strings.TrimPrefix(a, "-"), strings.TrimPrefix(b, "-")) })
	return strings.Join(texts, " ")
}

// watch checks the basic case: the present content, then changes.
func watch(b *bench) {
	b.put("a", `"1"`)
	b.put("b", `"1"`)
	watched := newUpdateLog(b)
	b.inBackground(func(ctx context.Context) error {
		return b.c.Watch(ctx, b.prefix, func(u kv.Update) error {
			s := ""
			if u.Resync {
				s = "resync "
			}
			var texts []string
			for _, ch := range u.Changes {
				var v wrapperspb.StringValue
				switch {
				case ch.Deleted:
					texts = append(texts, "-"+ch.Key)
				case ch.Value.Decode(&v) != nil:
					texts = append(texts, ch.Key+" bad")
				default:
					texts = append(texts, ch.Key+"="+v.Value)
				}
			}
			watched.add(s + joinByKey(texts))
			return nil
		})
	})
	watched.await("resync a bad b bad") // plain text is neither JSON nor protobuf
	b.ok(b.c.Put(b.prefix+"c/d", wrapperspb.String("x")))
	want := "resync a bad b bad; c/d bad" // JSON, but not an object: the wrapper of a string is a JSON string
	watched.await(want)
	if existed, err := b.c.Delete(b.prefix + "a"); err != nil || !existed {
		b.Errorf("delete: %v, %v", existed, err)
	}
	want += "; -a"
	watched.await(want)
	b.ok(b.c.Put(b.prefix+"b", nil))
	watched.await(want + "; -b")
}

// unreadable checks that undecodable entries are reported with the others.
func unreadable(b *bench) {
	bad := []string{"{", "no", "\x0a", `{"value":`, "\xff\xff\xff", `{"unknown": 1}`}
	for i, text := range bad {
		b.put(fmt.Sprintf("bad%d", i), text)
	}
	wire := []byte{0x0a, 4, 'a', '.', 'b', 'c'} // field 1: the text "a.bc"
	b.ok(b.db.Put(b.ctx, b.prefix+"good", wire))
	seen := make(chan kv.Update, 1)
	b.inBackground(func(ctx context.Context) error {
		return b.c.Watch(ctx, b.prefix, func(u kv.Update) error { seen <- u; return nil })
	})
	var u kv.Update
	select {
	case u = <-seen:
	case <-b.ctx.Done():
		b.Fatal("no update was reported")
	}
	if len(u.Changes) != len(bad)+1 {
		b.Fatalf("%d entries, want %d", len(u.Changes), len(bad)+1)
	}
	for _, ch := range u.Changes {
		var v wrapperspb.StringValue
		err := ch.Value.Decode(&v)
		if good := ch.Key == "good"; good != (err == nil) || good && v.Value != "a.bc" {
			b.Errorf("%s: %q, %v", ch.Key, v.Value, err)
		}
	}
}

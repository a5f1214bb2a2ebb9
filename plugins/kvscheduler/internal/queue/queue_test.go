package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// bounded is a queue on a clock of its own.
type bounded struct {
	*Queue
	t   testing.TB
	now time.Time
}

func newBounded(t testing.TB, capacity int) *bounded {
	b := &bounded{t: t, now: time.Unix(1e9, 0)}
	b.Queue = New(func() time.Time { return b.now }, capacity, 0)
	return b
}

func (b *bounded) put(e *Entry) *Entry {
	b.t.Helper()
	if err := b.Push(context.Background(), e); err != nil {
		b.t.Fatal(err)
	}
	return e
}

func of(class string) *Entry { return &Entry{Class: class} }

func resync() *Entry { return &Entry{Class: api.QueueNorthbound, Wide: true} }

func northbound(keys ...string) *Entry {
	e := &Entry{Class: api.QueueNorthbound}
	for _, key := range keys {
		e.Named = append(e.Named, api.RecordedKVPair{Key: key})
	}
	return e
}

func notification(list ...api.KVWithMetadata) *Entry {
	return &Entry{Class: api.QueueNotifications, News: NewNews(list)}
}

// news are about keys; a "-" before one means that its value does not exist.
func news(keys ...string) *Entry {
	var list []api.KVWithMetadata
	for _, key := range keys {
		kv := api.KVWithMetadata{Key: strings.TrimPrefix(key, "-")}
		if kv.Key == key {
			kv.Value = &model.Item{}
		}
		list = append(list, kv)
	}
	return notification(list...)
}

// order empties the queue and returns its entries: transactions as their keys,
// news in parentheses, "retry", "call" and "session".
func (b *bounded) order() string {
	var parts []string
	for e := b.take(); e != nil; e = b.take() {
		switch e.Class {
		case api.QueueNorthbound:
			parts = append(parts, text(e.Named, ""))
		case api.QueueNotifications:
			news := e.News
			if gone := news.TakeGone(); gone != nil {
				parts = append(parts, "("+text(gone.Values, "-")+")")
			}
			parts = append(parts, "("+text(news.Values, "-")+")")
		case api.QueueSessions:
			parts = append(parts, "session")
		case api.QueueCalls:
			parts = append(parts, "call")
		default:
			parts = append(parts, "retry")
		}
	}
	return strings.Join(parts, " ")
}

func text(values []api.RecordedKVPair, absent string) string {
	var keys []string
	for _, kv := range values {
		if kv.Value == nil {
			keys = append(keys, absent+kv.Key)
		} else {
			keys = append(keys, kv.Key)
		}
	}
	return strings.Join(keys, ",")
}

func TestQueueOrder(t *testing.T) {
	t.Parallel()
	many := make([]string, maxNamed+1)
	for i := range many {
		many[i] = "m"
	}
	retrying := func() *Entry { return of(api.QueueRetries) }
	for _, c := range []struct {
		name, want string
		entries    []*Entry
	}{
		{"the northbound goes first, in its order", "a b (x) retry", []*Entry{news("x"), northbound("a"), retrying(), northbound("b")}},
		{"news are merged by key", "a b (x,-y)", []*Entry{news("x", "y"), northbound("a"), news("-y"), northbound("b"), news("x")}},
		{"a value that did not exist in between", "a (-x) (x,y)", []*Entry{news("x"), northbound("a"), news("-x"), news("y"), news("x")}},
		{"what was gone before and is gone again", "(-x)", []*Entry{news("-x"), news("x"), news("-x")}},
		{"in one call", "(-x) (x)", []*Entry{news("x", "-x", "x")}},
		{"news of a key before the transaction that names it", "(x,y) x b", []*Entry{news("x"), northbound("x"), news("y"), northbound("b")}},
		{"news of a key after the transaction that names it", "x b (y) (x)", []*Entry{northbound("x"), news("y"), northbound("b"), news("x")}},
		{"news on both sides", "(x) x (x,z)", []*Entry{news("x"), northbound("x"), news("x"), news("z")}},
		{"resyncs and news change no places", "(x)  b (y)", []*Entry{news("x"), resync(), news("y"), northbound("b")}},
		{"nor do large transactions", "(x) " + strings.Join(many, ",") + " (y)", []*Entry{news("x"), northbound(many...), news("y")}},
		{"fences", "a (x) call b (x) session c retry retry", []*Entry{
			news("x"), northbound("a"), of(api.QueueCalls), news("x"), northbound("b"), of(api.QueueSessions),
			retrying(), northbound("c"), of(api.QueueUnimplemented)}},
	} {
		b := newBounded(t, 0)
		for _, e := range c.entries {
			b.put(e)
		}
		if got := b.order(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if st := b.Status(); st.Length != 0 || st.OldestAge != 0 {
			t.Errorf("%s: left %+v", c.name, st)
		}
	}
}

// An entry that waited long enough, or was overtaken often enough, comes first.
func TestQueueAgeing(t *testing.T) {
	t.Parallel()
	b := newBounded(t, 1000)
	b.put(news("x"))
	for i := range 2 * maxOvertaken {
		b.put(northbound(fmt.Sprint("t", i)))
	}
	b.put(of(api.QueueRetries))
	got := strings.Fields(b.order())
	if i := slices.Index(got, "(x)"); i != maxOvertaken {
		t.Errorf("news after %d transactions, expected %d", i, maxOvertaken)
	}
	if i := slices.Index(got, "retry"); i != len(got)-1 {
		t.Errorf("the retry came last and goes as number %d of %d", i, len(got))
	}

	b.put(of(api.QueueRetries))
	b.put(news("x"))
	b.now = b.now.Add(DefaultAgeing)
	b.put(northbound("a"))
	if got := b.order(); got != "retry (x) a" {
		t.Errorf("what waited for the time of ageing: got %q", got)
	}
}

// A clock that is set forward or back makes nothing wait longer, and nothing is
// said to have come in the future.
func TestQueueWhoseClockJumps(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{5 * time.Hour, -5 * time.Hour} {
		b := newBounded(t, 1000)
		b.put(northbound("a"))
		b.put(news("x"))
		b.put(northbound("b"))
		if got := b.Status().OldestAge; got != 0 {
			t.Errorf("%v: age %v before the jump", jump, got)
		}
		b.now = b.now.Add(jump)
		if got := b.Status().OldestAge; got != api.Seconds(max(0, jump)) {
			t.Errorf("%v: age %v after the jump", jump, got)
		}
		if got := b.order(); got != "a (x) b" {
			t.Errorf("%v: got %q", jump, got)
		}
		b.put(northbound("a"))
		b.put(news("x"))
		b.put(northbound("b"))
		if got := b.order(); got != "a b (x)" {
			t.Errorf("%v: what came after the jump: got %q", jump, got)
		}
	}
}

func TestQueueStatus(t *testing.T) {
	t.Parallel()
	b := newBounded(t, 5)
	a := northbound("a")
	a.Description = "of a"
	b.put(a)
	b.now = b.now.Add(time.Second)
	b.put(news("x"))
	b.put(news("y"))
	b.put(of(api.QueueCalls))
	b.now = b.now.Add(time.Minute)
	b.put(northbound("b"))
	st := b.Status()
	if st.Length != 4 || st.Capacity != 5 || st.Waiting[api.QueueNorthbound] != 2 || st.Waiting[api.QueueNotifications] != 1 ||
		st.Waiting[api.QueueCalls] != 1 || st.OldestAge != api.Seconds(61*time.Second) {
		t.Errorf("got %+v", st)
	}
	if st.Running != nil {
		t.Errorf("%+v is executed", st.Running)
	}
	b.take()
	b.now = b.now.Add(time.Second)
	if st := b.Status(); st.OldestAge != api.Seconds(61*time.Second) || *st.Running != (api.RunningTxn{Class: api.QueueNorthbound, Description: "of a", For: api.Seconds(time.Second)}) {
		t.Errorf("got %+v, %+v", st, st.Running)
	}
	for b.take() != nil {
	}
	if st := b.Status(); st.Running != nil || st.Length != 0 {
		t.Errorf("when all is done: %+v", st)
	}
}

func TestQueueRoom(t *testing.T) {
	t.Parallel()
	b := newBounded(t, 2)
	first := b.put(northbound("a"))
	b.put(northbound("b"))
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	if err := b.Push(ctx, northbound("c")); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
	if err := b.Offer(northbound("c")); !errors.Is(err, api.ErrTxnQueueFull) {
		t.Errorf("got %v", err)
	}
	b.put(news("x")) // always
	pushed := make(chan error)
	go func() { pushed <- b.Push(t.Context(), northbound("d")) }()
	if !b.Cancel(first) || b.Cancel(first) {
		t.Error("canceled not at all, or twice")
	}
	if err := <-pushed; err != nil {
		t.Error(err)
	}
	taken := b.take()
	if b.Cancel(taken) {
		t.Error("canceled although it was taken")
	}
	b.put(northbound("e"))
	if got := b.order(); got != "d e (x)" {
		t.Errorf("got %q", got)
	}
}

// life is a random life of a queue, watched from outside.
type life struct {
	*rapid.T
	q       *Queue
	now     time.Time
	steps   int
	waiting []*Entry // transactions
	pushed  map[*Entry]int
	news    map[string][]told // by key, in the order of the pushes
	seen    map[string]int    // steps of the news delivered last, by key
}

// told is one piece of news.
type told struct {
	step int
	gone bool
}

var lifeKeys = []string{"a", "b", "c"}

func (l *life) push(e *Entry) *Entry {
	l.pushed[e] = l.steps
	if err := l.q.Push(context.Background(), e); err != nil {
		l.Fatal(err)
	}
	return e
}

func (l *life) step(what string) {
	l.steps++
	l.now = l.now.Add(time.Duration(rapid.IntRange(0, 60).Draw(l.T, "ms")) * time.Millisecond)
	key := func() string { return rapid.SampledFrom(lifeKeys).Draw(l.T, "key") }
	switch what {
	case "transaction":
		l.waiting = append(l.waiting, l.push(northbound(key())))
	case "resync":
		l.waiting = append(l.waiting, l.push(resync()))
	case "notify":
		kv := api.KVWithMetadata{Key: key(), Metadata: l.steps} // by which the news are known again
		gone := rapid.Bool().Draw(l.T, "gone")
		if !gone {
			kv.Value = &model.Item{}
		}
		l.news[kv.Key] = append(l.news[kv.Key], told{l.steps, gone})
		l.push(notification(kv))
	case "fence":
		l.push(of(api.QueueCalls))
	case "cancel":
		if n := len(l.waiting); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(l.T, "which")
			if !l.q.Cancel(l.waiting[i]) {
				l.Fatalf("a transaction that waits cannot be canceled")
			}
			l.waiting = slices.Delete(l.waiting, i, i+1)
		}
	case "take":
		if e := l.q.take(); e != nil {
			l.taken(e)
		}
	}
}

func (l *life) taken(e *Entry) {
	switch e.Class {
	case api.QueueNorthbound:
		if len(l.waiting) == 0 || l.waiting[0] != e {
			l.Fatalf("a transaction out of order")
		}
		l.waiting = l.waiting[1:]
		for _, key := range lifeKeys {
			if e.Wide || e.Named[0].Key == key {
				l.upToDate(key, l.pushed[e])
			}
		}
	case api.QueueCalls:
		for _, key := range lifeKeys {
			l.upToDate(key, l.pushed[e])
		}
		if len(l.waiting) > 0 && l.pushed[l.waiting[0]] < l.pushed[e] {
			l.Fatalf("a barrier does not cover a transaction")
		}
	default:
		news := e.News
		gone := news.TakeGone()
		for _, kv := range news.Values {
			told := kv.Value == nil || gone != nil && slices.ContainsFunc(gone.Values, func(g api.RecordedKVPair) bool { return g.Key == kv.Key })
			l.delivered(kv.Key, news.Meta[kv.Key].(int), told)
		}
	}
}

// upToDate: exactly the news of before a step were delivered.
func (l *life) upToDate(key string, step int) {
	want := 0
	for _, n := range l.news[key] {
		if n.step < step {
			want = n.step
		}
	}
	if l.seen[key] != want {
		l.Fatalf("step %d sees %s of step %d, expected %d", step, key, l.seen[key], want)
	}
}

// delivered: no absence is lost.
func (l *life) delivered(key string, step int, toldGone bool) {
	absent := false
	for _, n := range l.news[key] {
		absent = absent || n.gone && n.step > l.seen[key] && n.step < step
	}
	if absent && !toldGone {
		l.Fatalf("%s was gone between step %d and step %d, which was not told", key, l.seen[key], step)
	}
	l.seen[key] = step
}

// TestQueueRandom: transactions keep their order; barriers, resyncs and those
// that name a key see exactly the news of before; no news and no absence is
// lost.
func TestQueueRandom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &life{T: t, now: time.Unix(1e9, 0), pushed: map[*Entry]int{}, news: map[string][]told{}, seen: map[string]int{}}
		l.q = New(func() time.Time { return l.now }, 0, 100*time.Millisecond)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			l.step(rapid.SampledFrom([]string{"transaction", "resync", "notify", "notify", "notify", "fence", "cancel", "take", "take"}).Draw(t, "step"))
		}
		for e := l.q.take(); e != nil; e = l.q.take() {
			l.taken(e)
		}
		l.steps++
		for _, key := range lifeKeys {
			l.upToDate(key, l.steps)
		}
		if st := l.q.Status(); st.Length != 0 || len(l.waiting) > 0 {
			t.Fatalf("left: %+v and %d transactions", st, len(l.waiting))
		}
	})
}

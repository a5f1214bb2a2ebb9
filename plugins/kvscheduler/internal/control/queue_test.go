package control

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
	*queue
	t   testing.TB
	now time.Time
}

func newBounded(t testing.TB, capacity int) *bounded {
	b := &bounded{t: t, now: time.Unix(1e9, 0)}
	b.queue = newQueue(func() time.Time { return b.now }, capacity, 0)
	return b
}

func (b *bounded) put(j *job) *job {
	b.t.Helper()
	if err := b.push(context.Background(), j); err != nil {
		b.t.Fatal(err)
	}
	return j
}

func northbound(keys ...string) *job {
	j := &job{typ: api.NBTransaction}
	for _, key := range keys {
		j.values = append(j.values, api.RecordedKVPair{Key: key})
	}
	return j
}

// news are keys, those that are gone with a "-" before.
func news(keys ...string) *job {
	var list []api.KVWithMetadata
	for _, key := range keys {
		kv := api.KVWithMetadata{Key: strings.TrimPrefix(key, "-")}
		if kv.Key == key {
			kv.Value = &model.Item{}
		}
		list = append(list, kv)
	}
	return notification(list)
}

// order empties the queue and tells what came: transactions as their keys,
// news in parentheses, "retry", "call" and "session".
func (b *bounded) order() string {
	var parts []string
	for j := b.take(); j != nil; j = b.take() {
		if gone := j.takeGone(); gone != nil {
			parts = append(parts, "("+text(gone)+")")
		}
		switch j.class() {
		case api.QueueNorthbound:
			parts = append(parts, text(j))
		case api.QueueNotifications:
			parts = append(parts, "("+text(j)+")")
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

func text(j *job) string {
	var keys []string
	for _, kv := range j.values {
		if kv.Value == nil && j.typ == api.SBNotification {
			keys = append(keys, "-"+kv.Key)
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
	retrying := func() *job { return &job{typ: api.RetryFailedOps} }
	resync := func() *job { return &job{typ: api.NBTransaction, opts: api.TxnOptions{Resync: api.FullResync}} }
	for _, c := range []struct {
		name, want string
		jobs       []*job
	}{
		{"the northbound goes first, in its order", "a b (x) retry", []*job{news("x"), northbound("a"), retrying(), northbound("b")}},
		{"news are merged by key", "a b (x,-y)", []*job{news("x", "y"), northbound("a"), news("-y"), northbound("b"), news("x")}},
		{"what was gone meanwhile is told", "a (-x) (x,y)", []*job{news("x"), northbound("a"), news("-x"), news("y"), news("x")}},
		{"what was gone before and is gone again", "(-x)", []*job{news("-x"), news("x"), news("-x")}},
		{"in one call", "(-x) (x)", []*job{news("x", "-x", "x")}},
		{"news of a key before the transaction that names it", "(x,y) x b", []*job{news("x"), northbound("x"), news("y"), northbound("b")}},
		{"news of a key after the transaction that names it", "x b (y) (x)", []*job{northbound("x"), news("y"), northbound("b"), news("x")}},
		{"news on both sides", "(x) x (x,z)", []*job{news("x"), northbound("x"), news("x"), news("z")}},
		{"resyncs and news change no places", "(x)  b (y)", []*job{news("x"), resync(), news("y"), northbound("b")}},
		{"nor do large transactions", "(x) " + strings.Join(many, ",") + " (y)", []*job{news("x"), northbound(many...), news("y")}},
		{"fences", "a (x) call b (x) session c retry retry", []*job{
			news("x"), northbound("a"), {call: func() {}}, news("x"), northbound("b"), {typ: api.SBNotification, session: &sessionChange{}},
			retrying(), northbound("c"), {typ: api.RetryUnimplOps}}},
	} {
		b := newBounded(t, 0)
		for _, j := range c.jobs {
			b.put(j)
		}
		if got := b.order(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if st := b.status(); st.Length != 0 || st.OldestAge != 0 {
			t.Errorf("%s: left %+v", c.name, st)
		}
	}
}

// Whatever waits long enough, or was overtaken often enough, has its turn.
func TestQueueAgeing(t *testing.T) {
	t.Parallel()
	b := newBounded(t, 1000)
	b.put(news("x"))
	for i := range 2 * maxOvertaken {
		b.put(northbound(fmt.Sprint("t", i)))
	}
	b.put(&job{typ: api.RetryFailedOps})
	got := strings.Fields(b.order())
	if i := slices.Index(got, "(x)"); i != maxOvertaken {
		t.Errorf("news after %d transactions, expected %d", i, maxOvertaken)
	}
	if i := slices.Index(got, "retry"); i != len(got)-1 {
		t.Errorf("the retry came last and goes as number %d of %d", i, len(got))
	}

	b.put(&job{typ: api.RetryFailedOps})
	b.put(news("x"))
	b.now = b.now.Add(DefaultQueueAgeing)
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
		if got := b.status().OldestAge; got != 0 {
			t.Errorf("%v: age %v before the jump", jump, got)
		}
		b.now = b.now.Add(jump)
		if got := b.status().OldestAge; got != api.Seconds(max(0, jump)) {
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
	a.opts.Description = "of a"
	b.put(a)
	b.now = b.now.Add(time.Second)
	b.put(news("x"))
	b.put(news("y"))
	b.put(&job{call: func() {}})
	b.now = b.now.Add(time.Minute)
	b.put(northbound("b"))
	st := b.status()
	if st.Length != 4 || st.Capacity != 5 || st.Waiting[api.QueueNorthbound] != 2 || st.Waiting[api.QueueNotifications] != 1 ||
		st.Waiting[api.QueueCalls] != 1 || st.OldestAge != api.Seconds(61*time.Second) {
		t.Errorf("got %+v", st)
	}
	if st.Running != nil {
		t.Errorf("%+v is executed", st.Running)
	}
	b.take()
	b.now = b.now.Add(time.Second)
	if st := b.status(); st.OldestAge != api.Seconds(61*time.Second) || *st.Running != (api.RunningTxn{Class: api.QueueNorthbound, Description: "of a", For: api.Seconds(time.Second)}) {
		t.Errorf("got %+v, %+v", st, st.Running)
	}
	for b.take() != nil {
	}
	if st := b.status(); st.Running != nil || st.Length != 0 {
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
	if err := b.push(ctx, northbound("c")); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
	if err := b.push(t.Context(), &job{typ: api.NBTransaction, opts: api.TxnOptions{NonBlocking: true}}); !errors.Is(err, api.ErrTxnQueueFull) {
		t.Errorf("got %v", err)
	}
	b.put(news("x")) // always
	pushed := make(chan error)
	go func() { pushed <- b.push(t.Context(), northbound("d")) }()
	if !b.cancel(first) || b.cancel(first) {
		t.Error("canceled not at all, or twice")
	}
	if err := <-pushed; err != nil {
		t.Error(err)
	}
	taken := b.take()
	if b.cancel(taken) {
		t.Error("canceled although its turn had come")
	}
	b.put(northbound("e"))
	if got := b.order(); got != "d e (x)" {
		t.Errorf("got %q", got)
	}
}

// life is a random life of a queue, watched from outside.
type life struct {
	*rapid.T
	q       *queue
	now     time.Time
	steps   int
	waiting []*job // transactions
	pushed  map[*job]int
	news    map[string][]told // by key, in the order of the pushes
	seen    map[string]int    // steps of the news delivered last, by key
}

// told is one piece of news.
type told struct {
	step int
	gone bool
}

var lifeKeys = []string{"a", "b", "c"}

func (l *life) push(j *job) *job {
	l.pushed[j] = l.steps
	if err := l.q.push(context.Background(), j); err != nil {
		l.Fatal(err)
	}
	return j
}

func (l *life) step(what string) {
	l.steps++
	l.now = l.now.Add(time.Duration(rapid.IntRange(0, 60).Draw(l.T, "ms")) * time.Millisecond)
	key := func() string { return rapid.SampledFrom(lifeKeys).Draw(l.T, "key") }
	switch what {
	case "transaction":
		l.waiting = append(l.waiting, l.push(northbound(key())))
	case "resync":
		l.waiting = append(l.waiting, l.push(&job{typ: api.NBTransaction, opts: api.TxnOptions{Resync: api.FullResync}}))
	case "notify":
		kv := api.KVWithMetadata{Key: key(), Metadata: l.steps} // by which the news are known again
		gone := rapid.Bool().Draw(l.T, "gone")
		if !gone {
			kv.Value = &model.Item{}
		}
		l.news[kv.Key] = append(l.news[kv.Key], told{l.steps, gone})
		l.push(notification([]api.KVWithMetadata{kv}))
	case "fence":
		l.push(&job{call: func() {}})
	case "cancel":
		if n := len(l.waiting); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(l.T, "which")
			if !l.q.cancel(l.waiting[i]) {
				l.Fatalf("a transaction that waits cannot be canceled")
			}
			l.waiting = slices.Delete(l.waiting, i, i+1)
		}
	case "take":
		if j := l.q.take(); j != nil {
			l.taken(j)
		}
	}
}

func (l *life) taken(j *job) {
	switch j.class() {
	case api.QueueNorthbound:
		if len(l.waiting) == 0 || l.waiting[0] != j {
			l.Fatalf("a transaction out of order")
		}
		l.waiting = l.waiting[1:]
		for _, key := range lifeKeys {
			if len(j.values) == 0 || j.values[0].Key == key {
				l.upToDate(key, l.pushed[j])
			}
		}
	case api.QueueCalls:
		for _, key := range lifeKeys {
			l.upToDate(key, l.pushed[j])
		}
		if len(l.waiting) > 0 && l.pushed[l.waiting[0]] < l.pushed[j] {
			l.Fatalf("a barrier does not cover a transaction")
		}
	default:
		gone := j.takeGone()
		for _, kv := range j.values {
			told := kv.Value == nil || gone != nil && slices.ContainsFunc(gone.values, func(g api.RecordedKVPair) bool { return g.Key == kv.Key })
			l.delivered(kv.Key, j.meta[kv.Key].(int), told)
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
		l := &life{T: t, now: time.Unix(1e9, 0), pushed: map[*job]int{}, news: map[string][]told{}, seen: map[string]int{}}
		l.q = newQueue(func() time.Time { return l.now }, 0, 100*time.Millisecond)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			l.step(rapid.SampledFrom([]string{"transaction", "resync", "notify", "notify", "notify", "fence", "cancel", "take", "take"}).Draw(t, "step"))
		}
		for j := l.q.take(); j != nil; j = l.q.take() {
			l.taken(j)
		}
		l.steps++
		for _, key := range lifeKeys {
			l.upToDate(key, l.steps)
		}
		if st := l.q.status(); st.Length != 0 || len(l.waiting) > 0 {
			t.Fatalf("left: %+v and %d transactions", st, len(l.waiting))
		}
	})
}

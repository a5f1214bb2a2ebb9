package kvstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// ConformOption is a setting of Conform.
type ConformOption func(*conformance)

// Alongside gives the descriptors of other values, and values of theirs that
// exist all the time: what the samples depend on. The descriptors of derived
// values belong here as well.
func Alongside(values []Sample, descriptors ...*api.KVDescriptor) ConformOption {
	return func(c *conformance) {
		c.values = append(c.values, values...)
		c.others = append(c.others, descriptors...)
	}
}

// Conform takes samples through their life in the southbound behind the
// descriptor, by way of a scheduler, and compares after each step what Retrieve
// finds with what should be there. Several samples of one key are what its
// value changes to, one after the other. The subtests are:
//
//   - life: create, every change (in place or by re-creation), delete;
//   - idempotent: nothing is done for what is already just so, a resync
//     included, and to delete what is gone is a success;
//   - restart: a new scheduler that is asked for the same finds everything as
//     it should be, and calls none of Create, Update and Delete;
//   - lost: what disappears behind the scheduler's back is found missing by a
//     resync, and created again (values that others are derived from excepted);
//   - faults: after an error of Create, Update and Delete, before it took
//     effect or after (a reply that is lost), asking again converges;
//   - revert: a transaction that fails is undone.
//
// The southbound is the real one, or whatever d works on. Only the samples and
// the values given with Alongside are touched, and all of them are removed at
// the end. CheckSamples is a good thing to do before.
func Conform(t *testing.T, d *api.KVDescriptor, samples []Sample, opts ...ConformOption) {
	t.Helper()
	c := newConformance(d, samples, opts)
	for _, step := range conformSteps {
		t.Run(step.name, func(t *testing.T) {
			if !d.Retrieves() && step.reads {
				t.Skipf("SKIPPED: descriptor %q has no Retrieve; its southbound cannot be read", d.Name)
			}
			if err := c.run(t, step.run); err != nil {
				t.Errorf("descriptor %q: %v", d.Name, err)
			}
		})
	}
}

type conformStep struct {
	name  string
	reads bool // needs Retrieve
	run   func(*conforming) error
}

var conformSteps = []conformStep{
	{"life", false, (*conforming).life},
	{"idempotent", false, (*conforming).idempotent},
	{"restart", true, (*conforming).restart},
	{"lost", true, (*conforming).lost},
	{"faults", true, (*conforming).faults},
	{"revert", true, (*conforming).revert},
	{"together", true, (*conforming).together},
}

// conformance is what Conform is about.
type conformance struct {
	d      *api.KVDescriptor
	keys   []string                   // of the samples, as given
	lives  map[string][]proto.Message // what each key has, one after the other
	values []Sample
	others []*api.KVDescriptor
}

func newConformance(d *api.KVDescriptor, samples []Sample, opts []ConformOption) *conformance {
	c := &conformance{d: d, lives: map[string][]proto.Message{}}
	for _, s := range samples {
		if c.lives[s.Key] == nil {
			c.keys = append(c.keys, s.Key)
		}
		c.lives[s.Key] = append(c.lives[s.Key], s.Value)
	}
	for _, o := range opts {
		o(c)
	}
	return c
}

// run runs one step in a world of its own and cleans up.
func (c *conformance) run(t testing.TB, step func(*conforming) error) error {
	w := &conforming{conformance: c, t: t, injected: &Faults{}, now: map[string]proto.Message{}}
	err := w.start()
	if err == nil {
		err = step(w)
	}
	return errors.Join(err, w.clean())
}

// conforming is one step of Conform while it runs.
type conforming struct {
	*conformance
	t         testing.TB
	injected  *Faults
	scheduler api.KVScheduler
	stop      func()
	now       map[string]proto.Message // what should exist
}

// start begins with a scheduler that was asked for what exists all the time
// and for what should exist now. What it finds besides is let alone.
func (w *conforming) start() error {
	if w.stop != nil {
		w.stop()
	}
	w.scheduler, w.stop = NewScheduler(w.t, nil)
	if err := w.scheduler.RegisterKVDescriptor(append([]*api.KVDescriptor{Faulty(w.d, w.injected)}, w.others...)...); err != nil {
		return err
	}
	txn := w.scheduler.StartNBTransaction()
	for _, v := range w.values {
		txn.SetValue(v.Key, v.Value)
	}
	for key, v := range w.now {
		txn.SetValue(key, proto.Clone(v))
	}
	if _, err := txn.Commit(w.t.Context(), api.WithResync(api.FullResync, false), api.WithoutRemoval()); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	for _, v := range w.values {
		if err := w.configured(v.Key); err != nil {
			return fmt.Errorf("start: %w", err)
		}
	}
	return nil
}

// clean removes everything, whatever happened before.
func (w *conforming) clean() error {
	w.injected.Heal()
	txn := w.scheduler.StartNBTransaction()
	for _, key := range w.keys {
		txn.SetValue(key, nil)
	}
	for _, v := range w.values {
		txn.SetValue(v.Key, nil)
	}
	_, err := txn.Commit(w.t.Context())
	w.stop()
	if err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

// set asks for a value; nil deletes it.
func (w *conforming) set(key string, v proto.Message, opts ...api.TxnOption) error {
	if v != nil {
		v = proto.Clone(v)
	}
	_, err := w.scheduler.StartNBTransaction().SetValue(key, v).Commit(w.t.Context(), opts...)
	return err
}

// to is set and a look at what came of it.
func (w *conforming) to(what, key string, v proto.Message) error {
	if err := w.set(key, v); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	w.now[key] = v
	if v == nil {
		delete(w.now, key)
	} else if err := w.configured(key); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return w.agrees("after "+what, key)
}

// configured says what keeps a value from being configured.
func (w *conforming) configured(key string) error {
	status := w.scheduler.GetValueStatus(key)
	switch s := status.Value; s.State {
	case pb.ValueState_CONFIGURED:
	case pb.ValueState_PENDING:
		return fmt.Errorf("%s is PENDING, it waits for %s: give that with Alongside", key, strings.Join(s.Details, ", "))
	case pb.ValueState_UNIMPLEMENTED:
		return fmt.Errorf("%s is UNIMPLEMENTED: no descriptor selects the key", key)
	default:
		return fmt.Errorf("%s is %s: %s", key, s.State, s.Error)
	}
	for _, s := range status.DerivedValues {
		if s.Error != "" {
			return fmt.Errorf("%s, derived from %s, is %s: %s", s.Key, key, s.State, s.Error)
		}
	}
	return nil
}

// agrees compares what Retrieve finds of a key with what should be there.
func (w *conforming) agrees(when, key string) error {
	if !w.d.Retrieves() {
		return nil
	}
	found, err := w.scheduler.DumpValuesByDescriptor(w.d.Name, api.SBView)
	if err != nil {
		return fmt.Errorf("%s: retrieve: %w", when, err)
	}
	want := w.now[key]
	i := slices.IndexFunc(found, func(kv api.KVWithMetadata) bool { return kv.Key == key })
	switch {
	case want == nil && i >= 0:
		return fmt.Errorf("%s: Retrieve still finds %s: %v", when, key, found[i].Value)
	case want == nil:
		return nil
	case i < 0:
		return fmt.Errorf("%s: Retrieve does not find %s", when, key)
	}
	equal := proto.Equal(want, found[i].Value)
	if w.d.ValueComparator != nil {
		equal = w.d.ValueComparator(key, found[i].Value, want)
	}
	if !equal {
		return fmt.Errorf("%s: Retrieve of %s differs from the configured value (-configured +retrieved); "+
			"if both mean the same, ValueComparator must say so:\n%s", when, key, cmp.Diff(want, found[i].Value, protocmp.Transform()))
	}
	return nil
}

// createAll creates the first value of every key, in one transaction.
func (w *conforming) createAll() error {
	txn := w.scheduler.StartNBTransaction()
	for _, key := range w.keys {
		w.now[key] = w.lives[key][0]
		txn.SetValue(key, proto.Clone(w.now[key]))
	}
	if _, err := txn.Commit(w.t.Context()); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	for _, key := range w.keys {
		if err := errors.Join(w.configured(key), w.agrees("after create", key)); err != nil {
			return err
		}
	}
	return nil
}

// resync reads the southbound and returns what was done because of it.
func (w *conforming) resync() (changes []string, err error) {
	w.injected.TakeCalls()
	_, err = w.scheduler.StartNBTransaction().Commit(w.t.Context(), api.WithResync(api.DownstreamResync, false))
	return w.changes(), err
}

// changes are the calls since the last time that were to change something.
func (w *conforming) changes() []string {
	return slices.DeleteFunc(w.injected.TakeCalls(), func(call string) bool { return strings.HasPrefix(call, "retrieve ") })
}

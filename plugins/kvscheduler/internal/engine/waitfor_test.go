package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// A wait ends with the transaction that makes it true, and not before.
func TestWaitFor(t *testing.T) {
	t.Parallel()
	configured, absent := []pb.ValueState{}, []pb.ValueState{pb.ValueState_NONEXISTENT}
	tap2 := map[string]*model.Item{"tap/2": {}}
	for name, tc := range map[string]struct {
		before map[string]*model.Item
		req    api.WaitRequest
		then   map[string]*model.Item
	}{
		"configured": {nil, api.WaitRequest{Keys: []string{"tap/2"}, States: configured}, tap2},
		"pending":    {map[string]*model.Item{"route/1": {Deps: []string{"tap/2"}}}, api.WaitRequest{Keys: []string{"route/1"}}, tap2},
		"derived":    {map[string]*model.Item{"tap/1": withAddress("tap/2")}, api.WaitRequest{Keys: []string{"tap/1"}}, tap2},
		"a derived value": {map[string]*model.Item{"tap/1": withAddress("tap/2")},
			api.WaitRequest{Keys: []string{"address/1"}}, tap2},
		"a derived value that is not there yet": {tap2,
			api.WaitRequest{Keys: []string{"address/1"}}, map[string]*model.Item{"tap/1": withAddress("tap/2")}},
		"a derived value that goes": {map[string]*model.Item{"tap/1": withAddress("tap/1")},
			api.WaitRequest{Keys: []string{"address/1"}, States: absent}, map[string]*model.Item{"tap/1": {}}},
		"prefix":                {map[string]*model.Item{"tap/1": {Deps: []string{"tap/2"}}}, api.WaitRequest{Prefixes: []string{"tap/"}}, tap2},
		"prefix without values": {nil, api.WaitRequest{Prefixes: []string{"tap/"}}, tap2},
		"absent prefix": {map[string]*model.Item{"tap/1": {}, "tap/2": {}},
			api.WaitRequest{Prefixes: []string{"tap/"}, States: absent}, map[string]*model.Item{"tap/1": nil, "tap/2": nil}},
		"absent": {tap2, api.WaitRequest{Keys: []string{"tap/2"}, States: absent}, map[string]*model.Item{"tap/2": nil}},
		"several states": {nil, api.WaitRequest{Keys: []string{"route/1"},
			States: []pb.ValueState{pb.ValueState_PENDING, pb.ValueState_CONFIGURED}},
			map[string]*model.Item{"route/1": {Deps: []string{"tap/2"}}}},
		"transaction": {map[string]*model.Item{"route/1": {Deps: []string{"tap/2"}}, "tap/1": {}}, api.WaitRequest{Txn: new(uint64)}, tap2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFollower(t)
				if tc.before != nil {
					f.must(tc.before)
				}
				ended := make(chan error, 1)
				go func() { ended <- f.s.WaitFor(t.Context(), tc.req) }()
				synctest.Wait()
				f.must(map[string]*model.Item{"route/other": {}})
				synctest.Wait()
				select {
				case err := <-ended:
					t.Fatalf("ended too early: %v", err)
				default:
				}
				f.must(tc.then)
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if err := f.s.WaitFor(t.Context(), tc.req); err != nil {
					t.Errorf("again: %v", err)
				}
			})
		})
	}
}

// Waiting for what cannot come ends at once, with the reason.
func TestWaitForNothing(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: "tap/failing"})
	f.sb.Inject(kvstest.Fault{Op: pb.TxnOperation_DELETE, Key: "tap/stuck"})
	f.must(map[string]*model.Item{"route/1": {Deps: []string{"tap/failing"}}, "tap/stuck": {}, "tap/1": {}})
	seq, err := f.commit(map[string]*model.Item{"tap/failing": {}, "tap/invalid": {Invalid: true}, "unknown/1": {}})
	if err == nil {
		t.Fatal("no failure")
	}
	_, _ = f.commit(map[string]*model.Item{"tap/stuck": nil, "tap/1": nil})
	none, absent := uint64(77), []pb.ValueState{pb.ValueState_NONEXISTENT}
	first := uint64(0)
	for _, tc := range []struct {
		req   api.WaitRequest
		cause error
		text  string
	}{
		{api.WaitRequest{Keys: []string{"tap/failing"}}, api.ErrWaitHopeless, "tap/failing is FAILED (injected failure"},
		{api.WaitRequest{Keys: []string{"tap/invalid"}}, api.ErrWaitHopeless, "tap/invalid is INVALID"},
		{api.WaitRequest{Keys: []string{"unknown/1"}}, api.ErrWaitHopeless, "unknown/1 is UNIMPLEMENTED (no plugin"},
		{api.WaitRequest{Keys: []string{"tap/stuck"}, States: absent}, api.ErrWaitHopeless, "tap/stuck is FAILED"},
		{api.WaitRequest{Prefixes: []string{"tap/", "route/"}}, api.ErrWaitHopeless, "route/1 is PENDING (waits for tap/failing); tap/failing"},
		{api.WaitRequest{Txn: &seq}, api.ErrWaitHopeless, "tap/failing"},
		{api.WaitRequest{Txn: &first}, api.ErrWaitHopeless, "tap/1 is NONEXISTENT (not configured)"},
		{api.WaitRequest{Txn: &none}, api.ErrNoSuchTransaction, "transaction 77"},
	} {
		err := f.s.WaitFor(t.Context(), tc.req)
		var we *api.WaitError
		if !errors.As(err, &we) || !errors.Is(err, tc.cause) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%v: %v, expected %v with %q", tc.req, err, tc.cause, tc.text)
		}
	}
	late := f.s.Revision()
	late.Number++
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- f.s.WaitFor(ctx, api.WaitRequest{Keys: []string{"route/1"}}) }()
	go func() { ended <- f.s.WaitFor(t.Context(), api.WaitRequest{Revision: late}) }()
	f.must(map[string]*model.Item{"route/2": {}})
	if err := <-ended; err != nil {
		t.Errorf("revision: %v", err)
	}
	cancel(errors.New("out of patience"))
	if err := <-ended; err == nil || err.Error() != "out of patience: route/1 is PENDING (waits for tap/failing)" {
		t.Errorf("deadline: %v", err)
	}
}

// The reason is up to date, also where the state did not change meanwhile.
func TestWaitForTellsWhatIsMissingNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFollower(t)
		f.must(map[string]*model.Item{"route/1": {Deps: []string{"tap/1", "tap/2"}}})
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.s.WaitFor(ctx, api.WaitRequest{Keys: []string{"route/1"}}) }()
		synctest.Wait()
		f.must(map[string]*model.Item{"tap/1": {}})
		cancel(errors.New("enough"))
		if err := <-ended; err == nil || err.Error() != "enough: route/1 is PENDING (waits for tap/2)" {
			t.Error(err)
		}
	})
}

// The error of a wait names the keys of the unmet dependencies besides their labels.
func TestWaitForNamesKeys(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	d := f.sb.Descriptor("labelled", "labelled/")
	d.Dependencies = func(string, proto.Message) []api.Dependency {
		return []api.Dependency{
			{Label: "interface-exists", Key: "tap/9"}, {Label: "tap/8", Key: "tap/8"}, {Label: "there", Key: "tap/1"},
			{Label: "some-bridge", AnyOf: api.AnyOfDependency{KeyPrefixes: []string{"bridge/", "switch/"}}},
		}
	}
	if err := f.s.RegisterKVDescriptor(d); err != nil {
		t.Fatal(err)
	}
	f.must(map[string]*model.Item{"tap/1": {}, "labelled/1": {}})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	err := f.s.WaitFor(ctx, api.WaitRequest{Keys: []string{"labelled/1"}})
	if err == nil || err.Error() != "enough: labelled/1 is PENDING (waits for tap/9 (interface-exists), tap/8, bridge/* or switch/* (some-bridge))" {
		t.Error(err)
	}
	if s := f.s.GetValueStatus("labelled/1").GetValue(); strings.Join(s.GetDetails(), " ") != "interface-exists tap/8 some-bridge" {
		t.Errorf("the status has %v", s.GetDetails())
	}
	for key, want := range map[string]bool{"labelled/1": false, "labelled/none": false, "unhandled/1": true} {
		if got := f.s.Explain(key).Undescribed; got != want {
			t.Errorf("%s: undescribed %v, want %v", key, got, want)
		}
	}
	for key, want := range map[string]bool{"labelled/1": false, "labelled/none": true, "unhandled/1": true} {
		if got := f.s.Explain(key).NotConfigured; got != want {
			t.Errorf("%s: not configured is %v, expected %v", key, got, want)
		}
	}
}

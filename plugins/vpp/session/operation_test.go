package session_test

import (
	"errors"
	"slices"
	"testing"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/tapv2"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// An operation is the variant that the VPP of the session has.
func TestOperationsFollowTheSession(t *testing.T) {
	t.Parallel()
	create := session.Declare("interface TAP", "tap",
		session.Variant(func() string { return "v3" }, (*tapv2.TapCreateV3)(nil)),
		session.Variant(func() string { return "v2" }, (*tapv2.TapCreateV2)(nil)),
	)
	var h session.Holder
	v := session.New(&h)
	if err := create.Check(v); !errors.Is(err, binapi.ErrDisconnected) || errors.Is(err, kvs.ErrPermanent) {
		t.Errorf("without session: %v", err)
	}
	for epoch, test := range []struct {
		forgotten []string
		want      string
	}{
		{nil, "v3"},
		{[]string{"tap_create_v3"}, "v2"},
		{[]string{"tap_create_v3", "tap_create_v2"}, ""},
	} {
		h.Set(connect(t, uint64(epoch+1), test.forgotten...))
		for range 2 {
			name, err := create.On(v)
			switch {
			case test.want == "":
				if !errors.Is(err, binding.ErrUnsupported) || !errors.Is(err, kvs.ErrPermanent) {
					t.Errorf("no variant: %v", err)
				}
			case err != nil || name() != test.want:
				t.Errorf("epoch %d: %v", epoch+1, err)
			}
		}
	}
	h.Clear(nil)
	if err := create.Check(v); !errors.Is(err, binapi.ErrDisconnected) {
		t.Errorf("after the sessions: %v", err)
	}
}

// The reported operations are the declared ones, in the order of the list.
func TestDeclaredOperations(t *testing.T) {
	t.Parallel()
	got := session.Operations{
		session.Declare("interface TAP", "tap",
			session.Variant(3, (*tapv2.TapCreateV3)(nil), (*tapv2.TapCreateV3Reply)(nil)),
			session.Variant(2, (*tapv2.TapCreateV2)(nil)),
		),
		session.Require("loopback", "", (*interfaces.CreateLoopback)(nil)),
	}.Capabilities()
	want := []binding.Capability{
		binding.Need("interface TAP", "tap", (*tapv2.TapCreateV3)(nil), (*tapv2.TapCreateV3Reply)(nil)).Or((*tapv2.TapCreateV2)(nil)),
		binding.Need("loopback", "", (*interfaces.CreateLoopback)(nil)),
	}
	same := func(a, b binding.Capability) bool {
		return a.Item == b.Item && a.Plugin == b.Plugin && slices.EqualFunc(a.NeedsOneOf, b.NeedsOneOf, slices.Equal)
	}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("%v, expected %v", got, want)
	}
}

// A dump of an operation that VPP lacks is empty, without a session it fails.
func TestDumpOfOperation(t *testing.T) {
	t.Parallel()
	loops := session.Require("loopback", "", (*interfaces.CreateLoopback)(nil))
	var h session.Holder
	v := session.New(&h)
	dump := func() (int, error) {
		found, err := session.DumpOf[*interfaces.SwInterfaceDetails](t.Context(), v, loops, &interfaces.SwInterfaceDump{})
		return len(found), err
	}
	if _, err := dump(); !errors.Is(err, binapi.ErrDisconnected) {
		t.Errorf("without session: %v", err)
	}
	h.Set(connect(t, 1))
	if n, err := dump(); n == 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	h.Set(connect(t, 2, "create_loopback"))
	if n, err := dump(); n != 0 || err != nil {
		t.Errorf("of a VPP without it: %d, %v", n, err)
	}
}

// State lasts for a session, and each VPP has its own.
func TestStateOfSession(t *testing.T) {
	t.Parallel()
	taken := session.NewState(func() *map[int]bool { return &map[int]bool{} })
	var h, other session.Holder
	v := session.New(&h)
	if _, err := taken.On(v); !errors.Is(err, binapi.ErrDisconnected) {
		t.Errorf("without session: %v", err)
	}
	h.Set(connect(t, 1))
	other.Set(connect(t, 1))
	first, _ := taken.On(v)
	(*first)[1] = true
	again, _ := taken.On(v)
	elsewhere, _ := taken.On(session.New(&other))
	if !(*again)[1] || (*elsewhere)[1] {
		t.Errorf("in the session %v, of another VPP %v", *again, *elsewhere)
	}
	h.Set(connect(t, 2))
	if next, err := taken.On(v); err != nil || (*next)[1] {
		t.Errorf("in the next session %v, %v", *next, err)
	}
}

package vpptest_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func spans(all ...*interfaces.Span) values {
	out := values{}
	for _, s := range all {
		out[ifmodel.SpanModel.Key(s)] = s
	}
	return out
}

func TestSpan(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		s := &interfaces.Span{InterfaceFrom: "a", InterfaceTo: "b", Direction: interfaces.Span_BOTH}
		other := &interfaces.Span{InterfaceFrom: "b", InterfaceTo: "a", Direction: interfaces.Span_RX, IsL2: true}
		key := ifmodel.SpanModel.Key(s)
		b.Must(spans(s, other))
		b.Must(of(loop("a")))
		b.Want(states{key: pending})
		b.Must(of(loop("b")))
		b.Want(states{key: configured})
		readBackSpans(t, b, spans(s, other))
		b.InSync()

		for _, direction := range []interfaces.Span_Direction{interfaces.Span_TX, interfaces.Span_RX} {
			changed := proto.CloneOf(s)
			changed.Direction, changed.IsL2 = direction, direction == interfaces.Span_RX
			b.Must(spans(changed))
			readBackSpans(t, b, spans(changed, other))
			b.InSync()
		}
		b.Must(spans(s))

		// An agent that comes later, and one that does not want it any more.
		b.Stop()
		b = vpptest.Start(t, target)
		all := of(loop("a"), loop("b"))
		for k, v := range spans(s, other) {
			all[k] = v
		}
		if ops := b.FullResync(all); len(ops) > 0 {
			t.Errorf("another agent had to %q", ops)
		}
		b.FullResync(of(loop("a"), loop("b")))
		readBackSpans(t, b, nil)

		// VPP would mirror whatever gets the index of a deleted interface.
		b.Must(spans(s))
		b.Must(deleted(of(loop("a"))))
		b.Must(of(loop("c")))
		readBackSpans(t, b, nil)
	})
}

func readBackSpans(t *testing.T, b *vpptest.Harness, want values) {
	t.Helper()
	got := b.Dump("vpp-span")
	for key, w := range want {
		if !proto.Equal(got[key], w) {
			t.Errorf("read back of %s is %v, expected %v", key, got[key], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("read back %v, expected %d", got, len(want))
	}
}

func TestInvalidSpan(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	for want, s := range map[string]*interfaces.Span{
		"interface_from: empty":                       {InterfaceTo: "b", Direction: interfaces.Span_RX},
		"interface_to: empty":                         {InterfaceFrom: "a", Direction: interfaces.Span_RX},
		`interface_to: "a" is the mirrored interface`: {InterfaceFrom: "a", InterfaceTo: "a", Direction: interfaces.Span_RX},
		"direction: UNKNOWN, expected RX, TX or BOTH": {InterfaceFrom: "a", InterfaceTo: "b"},
		"direction: 9, expected":                      {InterfaceFrom: "a", InterfaceTo: "b", Direction: 9},
	} {
		err := b.Commit(spans(s))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
}

package descriptor

import (
	"context"
	"errors"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// SPAN mirrors the packets of one interface to another one, where they enter and
// leave VPP or where frames are switched. The key has the two interfaces alone,
// so only one of the two places can be configured for a pair. VPP continues when
// an interface is deleted, for whatever gets its index: mirroring ends before.

type spanKV = kvs.KV[*interfaces.Span, kvs.Metadata]

type spanDescriptor struct {
	vpp *vppcalls.Calls
	ifs index
}

// NewSpan describes the mirroring of interfaces.
func NewSpan(vpp *vppcalls.Calls, ifs index) *kvs.KVDescriptor {
	d := &spanDescriptor{vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.SpanModel, kvs.Descriptor[*interfaces.Span, kvs.Metadata]{
		Name:         SpanName,
		Southbound:   Southbound,
		Validate:     validateSpan,
		Dependencies: spanDependencies,
		CreateContext: func(ctx context.Context, _ string, s *interfaces.Span) (kvs.Metadata, error) {
			return nil, d.set(ctx, s, true)
		},
		DeleteContext: func(ctx context.Context, _ string, s *interfaces.Span, _ kvs.Metadata) error {
			return d.set(ctx, s, false)
		},
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{InterfaceName},
	}))
}

func validateSpan(_ string, s *interfaces.Span) error {
	var errs []error
	if s.GetInterfaceFrom() == "" {
		errs = append(errs, invalid("interface_from", "empty, expected the name of an interface"))
	}
	switch s.GetInterfaceTo() {
	case "":
		errs = append(errs, invalid("interface_to", "empty, expected the name of an interface"))
	case s.GetInterfaceFrom():
		errs = append(errs, invalid("interface_to", "%q is the mirrored interface itself", s.GetInterfaceTo()))
	}
	if rx, tx := directions(s); !rx && !tx {
		errs = append(errs, invalid("direction", "%s, expected RX, TX or BOTH", s.GetDirection()))
	}
	return errors.Join(errs...)
}

func directions(s *interfaces.Span) (rx, tx bool) {
	switch s.GetDirection() {
	case interfaces.Span_RX:
		return true, false
	case interfaces.Span_TX:
		return false, true
	case interfaces.Span_BOTH:
		return true, true
	}
	return false, false
}

func spanDependencies(_ string, s *interfaces.Span) []kvs.Dependency {
	return []kvs.Dependency{
		{Label: "interface-from", Key: model.InterfaceModel.KeyFor(s.GetInterfaceFrom())},
		{Label: "interface-to", Key: model.InterfaceModel.KeyFor(s.GetInterfaceTo())},
	}
}

func (d *spanDescriptor) set(ctx context.Context, s *interfaces.Span, on bool) error {
	from, err := swIfIndex(d.ifs, s.GetInterfaceFrom())
	if err != nil {
		return err
	}
	to, err := swIfIndex(d.ifs, s.GetInterfaceTo())
	if err != nil {
		return err
	}
	wanted := vppcalls.Span{From: from, To: to, L2: s.GetIsL2()}
	if on {
		wanted.Rx, wanted.Tx = directions(s)
	}
	return d.vpp.SetSpan(ctx, wanted)
}

// retrieve returns what is mirrored between interfaces of ours. Of a pair that is
// mirrored at both places it returns the wanted one, or else the first.
func (d *spanDescriptor) retrieve(ctx context.Context, correlate []spanKV) ([]spanKV, error) {
	all, err := d.vpp.DumpSpans(ctx)
	if err != nil {
		return nil, err
	}
	l2 := map[string]bool{}
	for _, kv := range correlate {
		l2[kv.Key] = kv.Value.GetIsL2()
	}
	at, snapshot := map[string]int{}, d.ifs.Snapshot(ctx)
	var out []spanKV
	for _, s := range all {
		from, fromOK := snapshot.Name(s.From)
		to, toOK := snapshot.Name(s.To)
		if !fromOK || !toOK {
			continue
		}
		v := &interfaces.Span{InterfaceFrom: from, InterfaceTo: to, IsL2: s.L2}
		switch {
		case s.Rx && s.Tx:
			v.Direction = interfaces.Span_BOTH
		case s.Rx:
			v.Direction = interfaces.Span_RX
		case s.Tx:
			v.Direction = interfaces.Span_TX
		}
		kv := spanKV{Key: model.SpanModel.Key(v), Value: v, Origin: kvs.FromNB}
		if n, twice := at[kv.Key]; !twice {
			at[kv.Key] = len(out)
			out = append(out, kv)
		} else if l2[kv.Key] == s.L2 {
			out[n] = kv
		}
	}
	return out, snapshot.Err()
}

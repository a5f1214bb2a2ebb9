package srplugin

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/sr"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// There is one source address of encapsulating packets, "::" in a VPP that was not told any.
// VPP writes it into segment lists when it makes them, so the lists of policies are made again
// when it changes. Only the command line shows it.

var sourceOperation = session.Require("SRv6 source address", "",
	(*sr.SrSetEncapSource)(nil), (*sr.SrSetEncapSourceReply)(nil))

type global struct{ vpp *session.VPP }

type globalKV = kvs.KV[*srv6.SRv6Global, kvs.Metadata]

// NewGlobal describes what is common to all policies.
func NewGlobal(vpp *session.VPP) *kvs.KVDescriptor {
	d := &global{vpp}
	return kvs.Adapt(kvs.Describe(GlobalModel, kvs.Descriptor[*srv6.SRv6Global, kvs.Metadata]{
		Name:            GlobalName,
		Southbound:      item.Southbound,
		ValueComparator: func(_ string, a, b *srv6.SRv6Global) bool { return source(a) == source(b) },
		CreateContext: func(ctx context.Context, _ string, v *srv6.SRv6Global) (kvs.Metadata, error) {
			return nil, d.set(ctx, v)
		},
		UpdateContext: func(ctx context.Context, _ string, _, v *srv6.SRv6Global, _ kvs.Metadata) (kvs.Metadata, error) {
			return nil, d.set(ctx, v)
		},
		DeleteContext: func(ctx context.Context, _ string, _ *srv6.SRv6Global, _ kvs.Metadata) error {
			return d.set(ctx, &srv6.SRv6Global{})
		},
		RetrieveContext:    d.retrieve,
		ConcurrentRetrieve: true,
	}))
}

// source returns the address; "::" if there is none.
func source(v *srv6.SRv6Global) ip_types.IP6Address {
	a, _ := ipconv.ParseAddr(v.GetEncapSourceAddress())
	return a.As16()
}

func (d *global) set(ctx context.Context, v *srv6.SRv6Global) error {
	if err := sourceOperation.Check(d.vpp); err != nil {
		return err
	}
	if err := d.vpp.Call(ctx, &sr.SrSetEncapSource{EncapsSource: source(v)}, &sr.SrSetEncapSourceReply{}); err != nil {
		return err
	}
	return (&policies{d.vpp}).renew(ctx)
}

// retrieve reads the address. "::" is there as soon as it is wanted.
func (d *global) retrieve(ctx context.Context, correlate []globalKV) ([]globalKV, error) {
	const command, answer = "show sr encaps source addr", "SR encaps source addr = "
	shown, err := d.vpp.Command(ctx, command)
	if err != nil {
		return nil, err
	}
	text, _ := strings.CutPrefix(strings.TrimSpace(shown), answer)
	a, err := netip.ParseAddr(text)
	if err != nil {
		return nil, fmt.Errorf("command %q shows %q, expected %q and an address", command, shown, answer)
	}
	kv := globalKV{Key: GlobalModel.Key(nil), Value: &srv6.SRv6Global{EncapSourceAddress: a.String()}, Origin: kvs.UnknownOrigin}
	if len(correlate) > 0 {
		kv.Origin = kvs.FromNB
		if source(correlate[0].Value) == a.As16() {
			kv.Value = correlate[0].Value
		}
	}
	if a.IsUnspecified() && (len(correlate) == 0 || kv.Value != correlate[0].Value) {
		return nil, nil
	}
	return []globalKV{kv}, nil
}

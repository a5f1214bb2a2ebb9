package descriptor

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/packetfilter"
)

// find reads one value where it says that it is, because the comment of a table has no room for
// the name of its value and the namespace; nil if it is not there.
func (d tables) find(ctx context.Context, kv tableKV) (*table, packetfilter.Metadata, error) {
	h, err := d.Namespaces.Open(ctx, kv.Value.GetNamespace())
	if err != nil {
		return nil, packetfilter.Metadata{}, d.IgnoreUnreadable(kv.Value.GetNamespace(), err)
	}
	defer closeHandle(h)
	text, err := h.NFTable(ctx, place(kv.Value), false)
	if err != nil {
		return nil, packetfilter.Metadata{}, d.IgnoreUnreadable(kv.Value.GetNamespace(), err)
	}
	have, rest := split(text)
	want := d.markOf(kv.Value)
	if have.owner != want.owner {
		return nil, packetfilter.Metadata{}, nil
	}
	v := proto.CloneOf(kv.Value)
	now := packetfilter.Metadata{Printed: fingerprint(rest)}
	if have.content == want.content && (kv.Metadata.Printed == now.Printed || kv.Metadata.Printed == "" && d.expected(ctx, h, v, now)) {
		return v, now, nil
	}
	v.Content = rest
	return v, packetfilter.Metadata{}, nil
}

// expected reports whether the table is what the content makes. A content that needs links
// cannot be tried elsewhere: then the comment of the table counts, which identifies its content.
func (d tables) expected(ctx context.Context, h netlinkapi.Nftables, v *table, now packetfilter.Metadata) bool {
	fresh, err := h.TryNFTable(ctx, place(v), v.GetContent(), false)
	if err != nil {
		d.Log.Debug("a table is recognised by its comment", "table", place(v).String(), "error", err)
		return true
	}
	_, rest := split(fresh)
	return fingerprint(rest) == now.Printed
}

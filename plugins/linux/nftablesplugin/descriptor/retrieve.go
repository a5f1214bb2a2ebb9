package descriptor

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
)

// A value is looked for where it says that it is: the comment of a table has no room for the
// name of its value and the namespace.
func (d Deps) retrieve(ctx context.Context, correlate []tableKV) ([]tableKV, error) {
	at := map[string]int{} // key to its place in found
	var found []tableKV
	for _, kv := range correlate {
		i, again := at[kv.Key]
		if again && sameTable(kv.Key, found[i].Value, kv.Value) {
			continue
		}
		value, meta, err := d.find(ctx, kv)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kv.Value.GetName(), err)
		}
		switch {
		case value == nil:
		case !again:
			at[kv.Key] = len(found)
			found = append(found, tableKV{Key: kv.Key, Value: value, Metadata: meta, Origin: api.FromNB})
		case sameTable(kv.Key, value, kv.Value):
			found[i].Value, found[i].Metadata = value, meta
		}
	}
	return found, nil
}

// find reads one value; nil if it is not there.
func (d Deps) find(ctx context.Context, kv tableKV) (*table, Metadata, error) {
	h, err := d.Namespaces.Open(ctx, kv.Value.GetNamespace())
	if err != nil {
		return nil, Metadata{}, d.ignoreUnreadable(kv.Value, err)
	}
	defer closeHandle(h)
	text, err := h.NFTable(ctx, place(kv.Value), false)
	if err != nil {
		return nil, Metadata{}, d.ignoreUnreadable(kv.Value, err)
	}
	have, rest := split(text)
	want := d.markOf(kv.Value)
	if have.owner != want.owner {
		return nil, Metadata{}, nil
	}
	v := proto.CloneOf(kv.Value)
	now := Metadata{Printed: fingerprint(rest)}
	if have.content == want.content && (kv.Metadata == now || kv.Metadata.Printed == "" && d.expected(ctx, h, v, now)) {
		return v, now, nil
	}
	v.Content = rest
	return v, Metadata{}, nil
}

// expected reports whether the table is what the content makes. A content that needs links
// cannot be tried elsewhere: then the comment of the table counts, which identifies its content.
func (d Deps) expected(ctx context.Context, h netlinkapi.Nftables, v *table, now Metadata) bool {
	fresh, err := h.TryNFTable(ctx, place(v), v.GetContent(), false)
	if err != nil {
		d.Log.Debug("a table is recognised by its comment", "table", place(v).String(), "error", err)
		return true
	}
	_, rest := split(fresh)
	return fingerprint(rest) == now.Printed
}

// ignoreUnreadable makes what cannot have a table of ours nothing: a namespace that is gone or
// closed to the agent, and a host without nft.
func (d Deps) ignoreUnreadable(v *table, err error) error {
	switch {
	case netlinkapi.IsGone(err), errors.Is(err, netlinkapi.ErrNoProgram), errors.Is(err, netlinkapi.ErrUnsupported):
		return nil
	case errors.Is(err, netlinkapi.ErrPermission):
		d.Log.Debug("nftables not read", "namespace", nsmodel.Text(v.GetNamespace()), "error", err)
		return nil
	}
	return err
}

package descriptor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/packetfilter"
)

// set makes the table or replaces it, in one transaction of the kernel.
func (d tables) set(ctx context.Context, v *table) (packetfilter.Metadata, error) {
	h, err := d.Namespaces.Ensure(ctx, v.GetNamespace())
	if err != nil {
		return packetfilter.Metadata{}, err
	}
	defer closeHandle(h)
	t, m := place(v), d.markOf(v)
	before, err := h.NFTable(ctx, t, true)
	if err != nil && !errors.Is(err, netlinkapi.ErrNotFound) {
		return packetfilter.Metadata{}, packetfilter.Explain(err)
	}
	if have, _ := split(before); err == nil && have.owner != m.owner {
		return packetfilter.Metadata{}, fmt.Errorf("table %s does not belong to the item: another program made it, or another item: %w", t, netlinkapi.ErrExists)
	}
	content := v.GetContent() + "\n" + m.String() // behind, so that lines count as in the value
	if !d.setCounted(ctx, h, t, before, content) {
		if err := h.SetNFTable(ctx, t, content); err != nil {
			return packetfilter.Metadata{}, refusal(err, v)
		}
	}
	if !needsLinks.MatchString(content) {
		return packetfilter.Metadata{}, nil // what nft prints of it can be found out later
	}
	return d.printed(ctx, h, t), nil
}

// needsLinks matches a content that may need links, so that it cannot be tried elsewhere.
var needsLinks = regexp.MustCompile(`\b(devices?|iif|oif)\b`)

// setCounted replaces the table by one whose rules have the counters that they had before.
// It returns false if there are none, or if it is not possible.
func (d tables) setCounted(ctx context.Context, h netlinkapi.Nftables, t netlinkapi.NFTable, before, content string) bool {
	if !hasCounts(before) {
		return false
	}
	fresh, err := h.TryNFTable(ctx, t, content, true)
	if err == nil {
		counted := carryCounts(before, fresh)
		if counted == fresh {
			return false
		}
		err = h.SetNFTable(ctx, t, counted)
	}
	if err != nil {
		d.Log.Debug("the counters of a table begin with zero", "table", t.String(), "error", err)
	}
	return err == nil
}

// printed reads the table back, to recognise it later.
func (d tables) printed(ctx context.Context, h netlinkapi.Nftables, t netlinkapi.NFTable) packetfilter.Metadata {
	text, err := h.NFTable(ctx, t, false)
	if err != nil {
		d.Log.Debug("a table was not read back", "table", t.String(), "error", err)
		return packetfilter.Metadata{}
	}
	_, rest := split(text)
	return packetfilter.Metadata{Printed: fingerprint(rest)}
}

// delete removes the table if it still belongs to the value.
func (d tables) delete(ctx context.Context, v *table) (none packetfilter.Metadata, err error) {
	h, err := d.Namespaces.Open(ctx, v.GetNamespace())
	if err != nil {
		return none, packetfilter.IgnoreGone(err)
	}
	defer closeHandle(h)
	t := place(v)
	text, err := h.NFTable(ctx, t, false)
	if err != nil {
		return none, packetfilter.IgnoreGone(err)
	}
	if have, _ := split(text); have.owner != d.markOf(v).owner {
		return none, nil
	}
	return none, packetfilter.IgnoreGone(h.DeleteNFTable(ctx, t))
}

// refusal is the error of a change that was refused, with the line to blame.
func refusal(err error, v *table) error {
	var refused *netlinkapi.ContentError
	if !errors.As(err, &refused) {
		return packetfilter.Explain(err)
	}
	lines := strings.Split(v.GetContent(), "\n")
	if refused.Line < 1 || refused.Line > len(lines) {
		return fmt.Errorf("content: %w", err)
	}
	return fmt.Errorf("content: %q: %w", strings.TrimSpace(lines[refused.Line-1]), err)
}

// closeHandle ends a lease; that cannot fail in a way that matters here.
func closeHandle(h netlinkapi.Handle) { _ = h.Close() }

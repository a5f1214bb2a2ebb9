package descriptor

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// made is what links have in common that the kernel makes alone: they begin under a
// temporary name, are marked with the alias, and then get their own name, so that an
// interruption leaves nothing that is not recognised.
type made struct {
	Deps
	owner
}

// make makes a link under its temporary name, with add, and returns it, marked.
func (m made) make(ctx context.Context, h netlinkapi.Handle, name string, parts []string, add func(h netlinkapi.Handle, temporary string) error) (netlinkapi.Link, error) {
	temporary := m.temporary(name)
	if err := m.clearTemporary(ctx, h, name); err != nil {
		return netlinkapi.Link{}, err
	}
	if err := add(h, temporary); err != nil {
		return netlinkapi.Link{}, errors.Join(err, m.discard(context.WithoutCancel(ctx), h, temporary))
	}
	link, err := h.LinkByName(ctx, temporary)
	if err != nil {
		return link, err
	}
	link.Alias = m.alias(name, parts...)
	if err := h.SetAlias(ctx, link.Index, link.Alias); err != nil {
		return link, errors.Join(err, m.discard(context.WithoutCancel(ctx), h, temporary))
	}
	return link, nil
}

// clearTemporary deletes what an interruption left under the temporary name.
func (m made) clearTemporary(ctx context.Context, h netlinkapi.Handle, name string) error {
	temporary := m.temporary(name)
	left, err := h.LinkByName(ctx, temporary)
	if err != nil {
		return ignoreGone(err)
	}
	if _, _, ours := m.parse(left.Alias); !ours && !m.orphan(left) {
		return fmt.Errorf("link %q is not the agent's: %w", temporary, netlinkapi.ErrExists)
	}
	return ignoreGone(h.DeleteLink(ctx, left.Index))
}

// discard deletes a link that was made in part.
func (m made) discard(ctx context.Context, h netlinkapi.Handle, temporary string) error {
	link, err := h.LinkByName(ctx, temporary)
	if err != nil || !m.orphan(link) {
		return ignoreGone(err)
	}
	return ignoreGone(h.DeleteLink(ctx, link.Index))
}

func (m made) release(ctx context.Context, _ *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error {
	p, err := m.locate(ctx, meta)
	if err != nil {
		return ignoreGone(err)
	}
	defer closePlace(p)
	return ignoreGone(p.DeleteLink(ctx, p.link.Index))
}

package descriptor

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// made is what links have in common that the kernel makes alone, right in
// their namespace: they begin under a temporary name, are marked with the
// alias, and then get their own name, so that an interruption leaves nothing
// that is not recognised.
type made struct {
	Deps
	owner
}

// make makes a link with add and returns it, marked.
func (m made) make(ctx context.Context, v *interfaces.Interface, add func(h netlinkapi.Handle, name string) error) (*place, error) {
	h, err := m.Namespaces.Ensure(ctx, v.GetNamespace())
	if err != nil {
		return nil, err
	}
	link, err := m.marked(h, v, add)
	if err != nil {
		closeHandle(h)
		return nil, err
	}
	return &place{h, link}, nil
}

func (m made) marked(h netlinkapi.Handle, v *interfaces.Interface, add func(netlinkapi.Handle, string) error) (netlinkapi.Link, error) {
	temporary := m.temporary(v.GetName())
	if left, err := h.LinkByName(temporary); err == nil {
		if _, _, ours := m.parse(left.Alias); !ours && !m.orphan(left) {
			return left, fmt.Errorf("link %q is not the agent's: %w", temporary, netlinkapi.ErrExists)
		}
		if err := h.DeleteLink(left.Index); ignoreGone(err) != nil {
			return left, err
		}
	}
	if err := add(h, temporary); err != nil {
		return netlinkapi.Link{}, errors.Join(err, m.discard(netlinkapi.Unchecked(h), temporary))
	}
	link, err := h.LinkByName(temporary)
	if err != nil {
		return link, err
	}
	link.Alias = m.alias(v.GetName())
	if err := h.SetAlias(link.Index, link.Alias); err != nil {
		return link, errors.Join(err, m.discard(netlinkapi.Unchecked(h), temporary))
	}
	return link, nil
}

// discard deletes a link that was made in part.
func (m made) discard(h netlinkapi.Handle, temporary string) error {
	link, err := h.LinkByName(temporary)
	if err != nil || !m.orphan(link) {
		return ignoreGone(err)
	}
	return ignoreGone(h.DeleteLink(link.Index))
}

func (m made) release(ctx context.Context, _ *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error {
	p, err := m.locate(ctx, meta)
	if err != nil {
		return ignoreGone(err)
	}
	defer closePlace(p)
	return ignoreGone(p.DeleteLink(p.link.Index))
}

package descriptor

import (
	"context"
	"errors"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/nlsim"
)

// TestCanceledWhileDown: a link that was set down for a change is set up again, although
// the callback was canceled meanwhile.
func TestCanceledWhileDown(t *testing.T) {
	t.Parallel()
	k := nlsim.New()
	index := k.AddDevice("eth0")
	h, err := k.Open("", netlinkapi.Gate{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeHandle(h)
	if err := h.SetUp(t.Context(), index, true); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	canceled := errors.New("canceled")
	p := &place{h, netlinkapi.Link{Index: index, Name: "eth0"}}
	err = p.whileDown(ctx, func() error {
		if link, err := h.LinkByIndex(t.Context(), index); err != nil || link.Up {
			return errors.Join(err, netlinkapi.ErrBusy)
		}
		cancel(canceled)
		return p.Rename(ctx, index, "eth1")
	})
	if !errors.Is(err, canceled) {
		t.Errorf("the change returned %v, want that it is canceled", err)
	}
	if link, err := h.LinkByIndex(t.Context(), index); err != nil || !link.Up || link.Name != "eth0" {
		t.Errorf("the link is %+v (%v), want it up and not renamed", link, err)
	}
}

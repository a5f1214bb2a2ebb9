package descriptor

import (
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
	h, err := k.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer closeHandle(h)
	if err := h.SetUp(index, true); err != nil {
		t.Fatal(err)
	}
	var canceled error
	p := &place{netlinkapi.Checked(h, func() error { return canceled }, nil), netlinkapi.Link{Index: index, Name: "eth0"}}
	err = p.whileDown(func() error {
		if link, err := h.LinkByIndex(index); err != nil || link.Up {
			return errors.Join(err, netlinkapi.ErrBusy)
		}
		canceled = errors.New("canceled")
		return p.Rename(index, "eth1")
	})
	if !errors.Is(err, canceled) || canceled == nil {
		t.Errorf("the change returned %v, want that it is canceled", err)
	}
	if link, err := h.LinkByIndex(index); err != nil || !link.Up || link.Name != "eth0" {
		t.Errorf("the link is %+v (%v), want it up and not renamed", link, err)
	}
}

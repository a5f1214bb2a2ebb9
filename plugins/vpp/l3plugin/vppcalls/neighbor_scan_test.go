package vppcalls

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.fd.io/govpp/api"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// oldVPP knows the messages of a VPP 19.08 that matter here.
type oldVPP struct {
	binapi.Client

	known   []string
	refuse  error
	message *scanEnableDisable // the last
}

func (o *oldVPP) Has(m api.Message) bool {
	return slices.Contains(o.known, m.GetMessageName()+"_"+m.GetCrcString())
}

func (o *oldVPP) Call(_ context.Context, req, _ api.Message) error {
	o.message = req.(*scanEnableDisable)
	return o.refuse
}

// TestScanOfOldVPP: where nothing newer is known, all neighbours are scanned.
func TestScanOfOldVPP(t *testing.T) {
	t.Parallel()
	old := &oldVPP{known: []string{"ip_scan_neighbor_enable_disable_0a6bf57a", "ip_scan_neighbor_enable_disable_reply_e8d4e804"}}
	holder := &session.Holder{}
	holder.Set(session.Session{Epoch: 1, Client: old})
	calls := New(session.New(holder))

	if _, known, err := calls.NeighborAges(t.Context()); known || err != nil {
		t.Errorf("before: known %t, %v", known, err)
	}
	scan := NeighborScan{IPv6: true, StaleThreshold: 4, Interval: 1, MaxProcTime: 20, MaxUpdate: 10, Delay: 2}
	if err := calls.SetNeighborScan(t.Context(), scan); err != nil {
		t.Fatal(err)
	}
	bytes, err := old.message.Marshal(nil)
	if want := []byte{2, 1, 20, 10, 2, 4}; err != nil || !slices.Equal(bytes, want) {
		t.Errorf("sent %v, %v, expected %v", bytes, err, want)
	}
	var again scanEnableDisable
	if err := again.Unmarshal(bytes); err != nil || again != *old.message {
		t.Errorf("decoded %+v, %v", again, err)
	}
	if ages, known, err := calls.NeighborAges(t.Context()); ages != (NeighborAges{0, 240}) || !known || err != nil {
		t.Errorf("after: %v, known %t, %v", ages, known, err)
	}
	old.refuse = errors.New("refused")
	if err := calls.SetNeighborScan(t.Context(), NeighborScan{IPv4: true}); !errors.Is(err, old.refuse) {
		t.Errorf("error %v", err)
	}
	if _, known, _ := calls.NeighborAges(t.Context()); known {
		t.Error("what was refused counts as set")
	}
	holder.Set(session.Session{Epoch: 2, Client: &oldVPP{}})
	if err := calls.SetNeighborScan(t.Context(), scan); err == nil {
		t.Error("a VPP without any of the messages: no error")
	}
}

func TestShortScanMessages(t *testing.T) {
	t.Parallel()
	if err := (&scanEnableDisable{}).Unmarshal(make([]byte, 5)); err == nil {
		t.Error("request: no error")
	}
	reply := &scanEnableDisableReply{Retval: -2}
	bytes, err := reply.Marshal(nil)
	if err != nil {
		t.Fatal(err)
	}
	var again scanEnableDisableReply
	if err := again.Unmarshal(bytes); err != nil || again != *reply {
		t.Errorf("decoded %+v, %v", again, err)
	}
	if err := again.Unmarshal(bytes[:3]); err == nil {
		t.Error("reply: no error")
	}
}

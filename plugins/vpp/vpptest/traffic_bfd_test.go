package vpptest_test

import (
	"testing"
	"time"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	bfd "github.com/tenuto-dev/tenuto/proto/ligato/vpp/bfd"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// cableSession is a session over the cable of a pair, with a detection time of 300 ms.
func cableSession(local, peer string) *bfd.Session {
	return &bfd.Session{
		Interface: "cable", LocalAddress: local, PeerAddress: peer, DesiredMinTx: 100000, RequiredMinRx: 100000,
		Authentication: &bfd.Session_Authentication{Key: 1, KeyId: 5},
	}
}

// A VPP detects that the other one does not answer: its route is removed, and is back when the
// other one continues. A session stays up while its key is changed at both ends.
func TestTrafficBFD(t *testing.T) {
	p := newPair(t)
	left, right := cableSession("10.0.0.1", "10.0.0.2"), cableSession("10.0.0.2", "10.0.0.1")
	best := &l3.Route{DstNetwork: "198.51.100.0/24", NextHopAddr: "10.0.0.2", OutgoingInterface: "cable", Bfd: true}
	_, toRed := p.route("cable", "10.0.0.2", "10.0.0.1")
	p.left.Must(of(left, catalogue.BFDAuthKey(1), best))
	p.left.Want(states{key(best): pending})
	p.right.Must(toRed)
	p.right.Must(of(right, catalogue.BFDAuthKey(1)))
	p.left.Await(key(best), configured)
	p.red.reaches("198.51.100.1")
	p.left.InSync()
	p.right.InSync()

	since := time.Now()
	other := catalogue.BFDAuthKey(2)
	other.Secret = "00ff00ff"
	left, right = cableSession("10.0.0.1", "10.0.0.2"), cableSession("10.0.0.2", "10.0.0.1")
	left.Authentication = &bfd.Session_Authentication{Key: 2, KeyId: 6, Delayed: true}
	right.Authentication = &bfd.Session_Authentication{Key: 2, KeyId: 6}
	p.left.Must(of(other, left))
	p.right.Must(of(other, right))
	// VPP refuses to delete the first key until a packet with the second one has arrived.
	_ = p.left.Commit(deleted(of(catalogue.BFDAuthKey(1))), kvs.WithRetry(kvs.RetryOpts{Period: 10 * time.Millisecond})) // seen below
	p.left.Await(key(catalogue.BFDAuthKey(1)), gone)
	p.right.Must(deleted(of(catalogue.BFDAuthKey(1))))
	if ops := operationsOn(p.left, key(best), since); ops > 0 {
		t.Errorf("the route was changed %d times while the session got another key", ops)
	}
	p.left.InSync()
	p.right.InSync()

	for range 3 {
		begin := time.Now()
		p.right.Real.Stop()
		p.left.Await(key(best), pending)
		t.Logf("the route was removed after %s; the detection time is 300 ms", time.Since(begin).Round(time.Millisecond))
		p.right.Real.Continue()
		p.left.Await(key(best), configured)
	}
	p.red.reaches("198.51.100.1")
	p.left.InSync()
}

// operationsOn counts the operations on a value since a time.
func operationsOn(b *vpptest.Harness, key string, since time.Time) (n int) {
	for _, txn := range b.Scheduler.GetTransactionHistory(since, time.Time{}) {
		for _, op := range txn.Executed {
			if op.Key == key && !op.NOOP {
				n++
			}
		}
	}
	return n
}

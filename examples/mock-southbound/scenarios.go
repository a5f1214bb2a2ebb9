package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	ifmodel "github.com/tenuto-dev/tenuto/examples/mock-southbound/ifplugin/model"
	l2model "github.com/tenuto-dev/tenuto/examples/mock-southbound/l2plugin/model"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/southbound"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// scenario is one scenario; play runs it, beginning with an empty switch.
type scenario struct {
	title string
	play  func(ctx context.Context, p *player) error
}

func scenarios() []scenario {
	return []scenario{
		{"a full resync with values that wait for an interface", pendingAfterResync},
		{"the same with changes, in the wrong order", pendingAfterChange},
		{"a transaction that fails and is reverted", reverted},
		{"an invalid configuration, then a valid one", invalidThenFixed},
		{"an interface that is re-created, with all that depends on it", recreated},
		{"an operation that fails and is repaired by a retry", repaired},
		{"a thousand changes", performance},
	}
}

// player plays the northbound.
type player struct {
	scheduler api.KVScheduler
	sb        *southbound.Switch
	out       io.Writer
}

func (p *player) playAll(ctx context.Context) error {
	for _, s := range scenarios() {
		if err := p.play(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// play runs one scenario and clears everything afterwards.
func (p *player) play(ctx context.Context, s scenario) error {
	p.say("\n=== %s", s.title)
	if err := s.play(ctx, p); err != nil {
		return err
	}
	p.show()
	p.say("- an empty full resync clears everything")
	return p.expect(p.txn().Commit(ctx, api.WithResync(api.FullResync, false)))
}

func (p *player) say(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// expect passes errors of the transaction as a whole; the failures of single
// values belong to the stories.
func (p *player) expect(_ uint64, err error) error {
	if err != nil && strings.Contains(err.Error(), "not started") {
		return err
	}
	if err != nil {
		p.say("  error: %v", err)
	}
	return nil
}

// show prints the southbound and the states of all values.
func (p *player) show() {
	p.say("- what exists:")
	p.say("  %s", strings.ReplaceAll(strings.TrimSuffix(p.sb.String(), "\n"), "\n", "\n  "))
	p.say("- what the scheduler says:")
	for _, status := range p.scheduler.ListValueStatus("") {
		p.status("  ", status.GetValue())
		for _, derived := range status.GetDerivedValues() {
			p.status("    ", derived)
		}
	}
}

func (p *player) status(indent string, s *api.ValueStatus) {
	text := fmt.Sprintf("%s%s %v", indent, s.GetKey(), s.GetState())
	if len(s.GetDetails()) > 0 {
		text += " (" + strings.Join(s.GetDetails(), ", ") + ")"
	}
	p.say("%s", text)
}

// txn is a transaction with short names for the values of the stories.
type txn struct{ api.Txn }

func (p *player) txn() txn { return txn{p.scheduler.StartNBTransaction()} }

func (t txn) iface(i *ifmodel.Interface) txn {
	t.SetValue(ifmodel.ModelInterface.Key(i), i)
	return t
}

func (t txn) domain(name string, members ...string) txn {
	bd := &l2model.BridgeDomain{Name: name}
	for _, m := range members {
		bd.Interfaces = append(bd.Interfaces, &l2model.BridgeDomain_Interface{Name: m})
	}
	t.SetValue(l2model.ModelBridgeDomain.Key(bd), bd)
	return t
}

func (t txn) fib(domain, iface string) txn {
	e := &l2model.FIBEntry{PhysAddress: "62:89:C6:A3:6D:5C", BridgeDomain: domain, OutgoingInterface: iface}
	t.SetValue(l2model.ModelFIBEntry.Key(e), e)
	return t
}

func tap(name string) *ifmodel.Interface {
	return &ifmodel.Interface{Name: name, Type: ifmodel.Interface_TAP, Enabled: true}
}

func loopback(name string) *ifmodel.Interface { return &ifmodel.Interface{Name: name, Enabled: true} }

func pendingAfterResync(ctx context.Context, p *player) error {
	p.say("- full resync: bd1 with loop1 and tap1, an entry via tap1, but no tap1")
	full := p.txn().iface(loopback("loop1")).domain("bd1", "loop1", "tap1").fib("bd1", "tap1")
	if err := p.expect(full.Commit(ctx, api.WithResync(api.FullResync, true))); err != nil {
		return err
	}
	p.show()
	p.say("- tap1 comes")
	return p.expect(p.txn().iface(tap("tap1")).Commit(ctx))
}

func pendingAfterChange(ctx context.Context, p *player) error {
	p.say("- the entry first")
	if err := p.expect(p.txn().fib("bd1", "tap1").Commit(ctx)); err != nil {
		return err
	}
	p.say("- then the bridge domain")
	if err := p.expect(p.txn().domain("bd1", "tap1").Commit(ctx)); err != nil {
		return err
	}
	p.say("- then the interface")
	if err := p.expect(p.txn().iface(tap("tap1")).Commit(ctx)); err != nil {
		return err
	}
	p.say("- the bridge domain goes: the entry goes first and is remembered")
	gone := p.txn().SetValue(l2model.ModelBridgeDomain.KeyFor("bd1"), nil)
	return p.expect(gone.Commit(ctx))
}

func reverted(ctx context.Context, p *player) error {
	p.say("- loop1 exists")
	if err := p.expect(p.txn().iface(loopback("loop1")).Commit(ctx)); err != nil {
		return err
	}
	p.say("- tap1, bd1 and an entry together, and the entry fails")
	p.sb.Fail("add fib", 1)
	change := p.txn().iface(tap("tap1")).domain("bd1", "tap1", "loop1").fib("bd1", "tap1")
	return p.expect(change.Commit(ctx, api.WithRevert()))
}

func invalidThenFixed(ctx context.Context, p *player) error {
	p.say("- a ring of 300")
	odd := tap("tap1")
	odd.RxRingSize = 300
	if err := p.expect(p.txn().iface(odd).domain("bd1", "tap1").Commit(ctx)); err != nil {
		return err
	}
	p.show()
	p.say("- a ring of 512")
	even := tap("tap1")
	even.RxRingSize = 512
	return p.expect(p.txn().iface(even).Commit(ctx))
}

func recreated(ctx context.Context, p *player) error {
	p.say("- tap1 in bd1, with an entry")
	all := p.txn().iface(tap("tap1")).domain("bd1", "tap1").fib("bd1", "tap1")
	if err := p.expect(all.Commit(ctx)); err != nil {
		return err
	}
	p.say("- another size of the ring, which cannot be changed in place")
	larger := tap("tap1")
	larger.RxRingSize = 1024
	return p.expect(p.txn().iface(larger).Commit(ctx))
}

func repaired(ctx context.Context, p *player) error {
	p.say("- tap1 fails once, with retry")
	updates := make(chan *api.BaseValueStatus)
	key := ifmodel.ModelInterface.KeyFor("tap1")
	cancel := p.scheduler.WatchValueStatus(updates, func(k string) bool { return k == key })
	defer cancel()
	p.sb.Fail("add interface", 1)
	retry := api.WithRetry(api.RetryOpts{Period: 50 * time.Millisecond, MaxCount: 3})
	if err := p.expect(p.txn().iface(tap("tap1")).domain("bd1", "tap1").Commit(ctx, retry)); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case s := <-updates:
			if s.GetValue().GetState() == pb.ValueState_CONFIGURED {
				p.scheduler.TransactionBarrier()
				return nil
			}
		}
	}
}

// performance makes and removes interfaces in a bridge domain.
func performance(ctx context.Context, p *player) error {
	const n = 1000
	p.sb.Mute(nil)
	defer p.sb.Mute(p.out)
	names := make([]string, n)
	all := p.txn()
	for i := range n {
		names[i] = fmt.Sprintf("loop%d", i)
		all.iface(loopback(names[i]))
	}
	start := time.Now()
	if err := p.expect(all.domain("bd1", names...).Commit(ctx)); err != nil {
		return err
	}
	p.say("  %d interfaces in a bridge domain: %v", n, time.Since(start).Round(time.Millisecond))
	start = time.Now()
	for _, name := range names {
		gone := p.txn().SetValue(ifmodel.ModelInterface.KeyFor(name), nil)
		if err := p.expect(gone.Commit(ctx)); err != nil {
			return err
		}
	}
	p.say("  removed one by one: %v", time.Since(start).Round(time.Millisecond))
	return p.expect(p.txn().SetValue(l2model.ModelBridgeDomain.KeyFor("bd1"), nil).Commit(ctx))
}

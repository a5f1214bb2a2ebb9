package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// patient is a southbound that answers no request while it hangs. Its callbacks wait for
// the answer until their context is canceled.
type patient struct {
	mu     sync.Mutex
	hangs  bool
	causes []error
}

func (p *patient) ask(ctx context.Context) error {
	p.mu.Lock()
	hangs := p.hangs
	p.mu.Unlock()
	if !hangs {
		return ctx.Err()
	}
	<-ctx.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.causes = append(p.causes, context.Cause(ctx))
	return ctx.Err()
}

func (p *patient) hang(hangs bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hangs = hangs
}

// canceled returns the causes of the contexts that were canceled since the last call.
func (p *patient) canceled() []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	causes := p.causes
	p.causes = nil
	return causes
}

func (p *patient) descriptor(concurrency int) *api.KVDescriptor {
	return api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "a", NBKeyPrefix: "a/", KeySelector: hasPrefix("a/"), Southbound: "s", Concurrency: concurrency,
		CreateContext: func(ctx context.Context, _ string, _ *model.Item) (any, error) { return nil, p.ask(ctx) },
		DeleteContext: func(ctx context.Context, _ string, _ *model.Item, _ any) error { return p.ask(ctx) },
		RetrieveContext: func(ctx context.Context, _ []api.KV[*model.Item, any]) ([]api.KV[*model.Item, any], error) {
			return nil, p.ask(ctx)
		},
	})
}

// TestTimeoutCancels: a callback that is given up and honours its context leaves no
// goroutine, and the operation is repeated.
func TestTimeoutCancels(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{0, 4} {
		p := &patient{}
		impatient(t, nil, []*api.KVDescriptor{p.descriptor(concurrency)}, func(t *testing.T, c *engine.Engine, _ func()) {
			c.SouthboundUp("s", 1)
			c.TransactionBarrier()
			p.hang(true)
			txn := c.StartNBTransaction().SetValue("a/1", &model.Item{}).SetValue("a/2", &model.Item{})
			_, err := txn.Commit(t.Context(), api.WithRetry(api.RetryOpts{Period: time.Hour}))
			if !errors.Is(err, api.ErrCallbackTimeout) {
				t.Errorf("concurrency %d: Commit returned %v, expected a timeout", concurrency, err)
			}
			time.Sleep(10 * time.Minute) // the values are read back, which hangs as well
			if left := c.Hanging(); len(left) > 0 {
				t.Errorf("concurrency %d: %v still run", concurrency, left)
			}
			causes := p.canceled()
			if len(causes) < 2 {
				t.Errorf("concurrency %d: %d contexts were canceled, expected one of each Create", concurrency, len(causes))
			}
			for _, cause := range causes {
				if !errors.Is(cause, api.ErrCallbackTimeout) {
					t.Errorf("concurrency %d: canceled because of %v", concurrency, cause)
				}
			}
			p.hang(false)
			time.Sleep(2 * time.Hour)
			c.TransactionBarrier()
			for _, key := range []string{"a/1", "a/2"} {
				if got := c.GetValueStatus(key).GetValue().GetState(); got != kvscheduler.ValueState_CONFIGURED {
					t.Errorf("concurrency %d: %s is %v after the southbound answers again", concurrency, key, got)
				}
			}
		})
	}
}

// TestSessionEndCancels: the end of a session cancels the contexts of its callbacks, and
// the contexts of the next session are not canceled.
func TestSessionEndCancels(t *testing.T) {
	t.Parallel()
	p := &patient{}
	impatient(t, nil, []*api.KVDescriptor{p.descriptor(4)}, func(t *testing.T, c *engine.Engine, _ func()) {
		gone := errors.New("gone")
		c.SouthboundUp("s", 1)
		c.TransactionBarrier()
		p.hang(true)
		start := time.Now()
		go func() {
			time.Sleep(time.Second)
			c.SouthboundDown("s", gone)
		}()
		_, err := c.StartNBTransaction().SetValue("a/1", &model.Item{}).Commit(t.Context())
		if took := time.Since(start); err == nil || took != time.Second {
			t.Errorf("Commit returned %v after %v", err, took)
		}
		causes := p.canceled()
		if len(causes) == 0 || !errors.Is(causes[0], api.ErrSessionEnded) || !errors.Is(causes[0], gone) {
			t.Errorf("canceled because of %v", causes)
		}
		p.hang(false)
		c.SouthboundUp("s", 2)
		c.TransactionBarrier()
		if got := c.GetValueStatus("a/1").GetValue().GetState(); got != kvscheduler.ValueState_CONFIGURED {
			t.Errorf("in the next session the value is %v", got)
		}
		p.hang(true) // a session that is replaced ends as well
		go func() {
			time.Sleep(time.Second)
			c.SouthboundUp("s", 3)
		}()
		_, err = c.StartNBTransaction().SetValue("a/2", &model.Item{}).Commit(t.Context())
		p.hang(false)
		if causes = p.canceled(); err == nil || len(causes) == 0 || !errors.Is(causes[0], api.ErrSessionEnded) {
			t.Errorf("another epoch: Commit returned %v, canceled because of %v", err, causes)
		}
	})
}

// TestStopCancels: a scheduler that is to stop cancels the contexts of callbacks after 2 s,
// with and without a time limit.
func TestStopCancels(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{0, -1} {
		p := &patient{}
		d := p.descriptor(0)
		d.Timeout = limit
		impatient(t, nil, []*api.KVDescriptor{d}, func(t *testing.T, c *engine.Engine, stop func()) {
			c.SouthboundUp("s", 1)
			c.TransactionBarrier()
			p.hang(true)
			_, _ = c.StartNBTransaction().SetValue("a/1", &model.Item{}).Commit(t.Context(), api.WithoutBlocking())
			synctest.Wait()
			start := time.Now()
			stop()
			if took := time.Since(start); took > 4*time.Second { // Create, and the Retrieve after it
				t.Errorf("time limit %v: the stop took %v", limit, took)
			}
			synctest.Wait()
			if left := c.Hanging(); len(left) > 0 {
				t.Errorf("time limit %v: %v still run", limit, left)
			}
			for _, cause := range p.canceled() {
				if !errors.Is(cause, api.ErrClosedScheduler) {
					t.Errorf("time limit %v: canceled because of %v", limit, cause)
				}
			}
		})
	}
}

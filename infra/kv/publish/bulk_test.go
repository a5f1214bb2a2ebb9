package publish_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// bulk is a store that is written as a whole, and without lifetimes.
type bulk struct {
	*store
	batches []int // how many values there were at once
}

func (b *bulk) PutAll(values map[string]proto.Message, opts ...kv.PutOption) error {
	if kv.CollectPut(opts).ClientLifetime {
		return kv.ErrNotSupported
	}
	for key, value := range values {
		if value == nil {
			if _, err := b.Delete(key); err != nil {
				return err
			}
			continue
		}
		if err := b.Put(key, value); err != nil {
			return err
		}
	}
	b.batches = append(b.batches, len(values))
	return nil
}

// What waits for a store that is written as a whole is written at once, also
// after a failure.
func TestAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bulk{store: newStore()}
		b.plain = true
		w := runOn(t, b, b.store)
		w.want("")
		b.fail(errors.New("disk full"))
		w.set("a", "0")
		synctest.Wait()
		w.wantHealth(health.Degraded, "disk full")
		all := ""
		for i := range 100 {
			w.set(fmt.Sprintf("b%02d", i), "1")
			all += fmt.Sprintf(" b%02d=1", i)
		}
		w.set("a", "1")
		b.fail(nil)
		time.Sleep(time.Second) // it is tried again
		w.want("a=1" + all)
		w.wantHealth(health.OK, "published")
		if len(b.batches) != 1 || b.batches[0] != 101 {
			t.Errorf("written in batches of %v, want one of 101", b.batches)
		}
		w.set("b07", "")
		synctest.Wait()
		if n := len(b.values); n != 100 || len(b.batches) != 2 {
			t.Errorf("%d values after one is gone, batches %v", n, b.batches)
		}
		w.stop()
		w.want("")
	})
}

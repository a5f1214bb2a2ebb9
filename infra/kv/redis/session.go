package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/follow"
)

const (
	// announcement is how long a server may take to announce a change.
	announcement = 500 * time.Millisecond
	// needed are the notification classes that cover changes of strings:
	// keyspace events of generic commands, strings, expiry and eviction. "A" is
	// an alias of all but K.
	needed = "Kg$xe"
)

// session follows the store until an error occurs, see follow.Session.
func (d *database) session(ctx context.Context, v *follow.View) error {
	if err := d.eachMaster(ctx, d.prepare); err != nil {
		return fmt.Errorf("redis: %w", explain(err))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l := &listener{dirty: map[string]string{}, wake: make(chan struct{}, 1)}
	defer l.wait()
	defer cancel(nil)
	masters, err := d.listen(ctx, cancel, l, v.Prefix())
	if err != nil {
		return fmt.Errorf("redis: listen: %w", explain(err))
	}
	listing, err := d.list(ctx, d.masters, v.Prefix(), false)
	if err != nil {
		return err
	}
	v.Replace(listing)
	inspection := time.NewTicker(d.cfg.silence())
	defer inspection.Stop()
	for {
		select {
		case <-l.wake:
			if err := d.update(ctx, l, v); err != nil {
				return fmt.Errorf("redis: %w", explain(err))
			}
		case <-inspection.C:
			stale, err := d.inspect(ctx, l, v, masters)
			if ctx.Err() != nil {
				err = context.Cause(ctx) // the reason of a failed request
			}
			if err != nil {
				return fmt.Errorf("redis: %w", explain(err))
			}
			if !stale {
				continue
			}
			if listing, err = d.list(ctx, d.masters, v.Prefix(), false); err != nil {
				return err
			}
			v.Replace(listing)
		case <-ctx.Done():
			return fmt.Errorf("redis: listen: %w", explain(context.Cause(ctx)))
		}
	}
}

// update reads the announced keys. A key that was evicted was not deleted by a client.
func (d *database) update(ctx context.Context, l *listener, v *follow.View) error {
	announced := l.take()
	events, err := d.fetch(ctx, d.masters, slices.Sorted(maps.Keys(announced)))
	if err != nil {
		return err
	}
	events = d.withCauses(ctx, l, announced, events)
	evicted := int64(0)
	for i := range events {
		if ev := &events[i]; ev.Deleted && announced[ev.Key] == "evicted" {
			ev.Inferred = true
			evicted++
		}
	}
	if evicted > 0 {
		id, before := d.identity(ctx), v.Identity()
		id.Evicted = max(id.Evicted, before.Evicted+evicted) // INFO may be hidden, or its counters reset
		v.Identify(before.Then(id))
	}
	v.ApplyNew(events)
	return nil
}

// removals are the events of removals that clients requested. Evictions are not among them.
var removals = []string{"del", "expired", "rename_from", "move_from"}

// withCauses returns the events whose cause is known. A key may be removed while an earlier event,
// such as "expire", is handled. Then the server announces the removal too, and the next update
// handles it. If no announcement comes within the time limit, the deletion is Inferred.
func (d *database) withCauses(ctx context.Context, l *listener, announced map[string]string, events []kv.Event) []kv.Event {
	removed := func(ev kv.Event) bool {
		return ev.Deleted && announced[ev.Key] != "evicted" && !slices.Contains(removals, announced[ev.Key])
	}
	var keys []string
	for _, ev := range events {
		if removed(ev) {
			keys = append(keys, ev.Key)
		}
	}
	if len(keys) == 0 {
		return events
	}
	missing := l.silent(ctx, keys)
	known := events[:0]
	for _, ev := range events {
		if !removed(ev) {
			known = append(known, ev)
		} else if slices.Contains(missing, ev.Key) {
			ev.Inferred = true
			known = append(known, ev)
		}
	}
	return known
}

// replica reports whether endpoint is a replica. A full synchronisation
// changes its content without notifications, so it has to be polled.
func (d *database) replica(ctx context.Context) bool {
	c, ok := d.masters.(*goredis.Client)
	if !ok {
		return false
	}
	role, err := c.Do(ctx, "ROLE").Slice()
	return err == nil && len(role) > 0 && role[0] == "slave"
}

// maxSampled is the number of keys whose existence is checked.
const maxSampled = 100

// inspect looks for changes that no server announces. stale reports that everything has to be
// read again. The error is a reason to connect again. The number of requests does not depend
// on the number of keys.
func (d *database) inspect(ctx context.Context, l *listener, v *follow.View, masters []string) (stale bool, err error) {
	now, err := d.addresses(ctx)
	if err != nil {
		return false, err
	}
	if !slices.Equal(now, masters) {
		return false, fmt.Errorf("the masters of the cluster have changed from %v to %v", masters, now)
	}
	var enabled atomic.Bool
	err = d.eachMaster(ctx, func(ctx context.Context, c *goredis.Client) error {
		changed, err := d.announce(ctx, c)
		if changed {
			enabled.Store(true)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	return enabled.Load() || d.replica(ctx) || d.flushed(ctx, l, v), nil
}

// flushed reports whether keys have disappeared that no server announced, as by FLUSHALL. It
// checks a sample, because FLUSHALL removes all keys of a server.
func (d *database) flushed(ctx context.Context, l *listener, v *follow.View) bool {
	missing := d.missing(ctx, v.Sample(maxSampled))
	return len(missing) > 0 && len(l.silent(ctx, missing)) > 0
}

// missing returns which of the keys do not exist. In a cluster it checks one of them on each
// master.
func (d *database) missing(ctx context.Context, keys []string) (missing []string) {
	if len(keys) == 0 {
		return nil
	}
	if c, ok := d.masters.(*goredis.ClusterClient); ok {
		keys = onePerMaster(ctx, c, keys)
	} else if n, err := d.masters.Exists(ctx, keys...).Result(); err != nil || n == int64(len(keys)) {
		return nil // the next request reports the error
	}
	found := make([]*goredis.IntCmd, len(keys))
	pipe := d.masters.Pipeline()
	for i, key := range keys {
		found[i] = pipe.Exists(ctx, key)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil
	}
	for i, key := range keys {
		if found[i].Val() == 0 {
			missing = append(missing, key)
		}
	}
	return missing
}

// onePerMaster returns the first key on each master.
func onePerMaster(ctx context.Context, c *goredis.ClusterClient, keys []string) (first []string) {
	seen := map[string]bool{}
	for _, key := range keys {
		master, err := c.MasterForKey(ctx, key)
		if err != nil {
			continue // the next request reports it
		}
		if addr := master.Options().Addr; !seen[addr] {
			seen[addr] = true
			first = append(first, key)
		}
	}
	return first
}

// silent waits a moment, and returns the keys that no server has announced.
func (l *listener) silent(ctx context.Context, keys []string) []string {
	select {
	case <-time.After(announcement):
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(keys, func(key string) bool { return l.dirty[key] != "" })
}

// prepare makes a server announce changes, and warns if it may remove configuration.
func (d *database) prepare(ctx context.Context, c *goredis.Client) error {
	_, err := d.announce(ctx, c)
	if err == nil {
		d.warnOfEviction(ctx, c)
	}
	return err
}

// announce makes a server announce changes. enabled reports that it did not.
func (d *database) announce(ctx context.Context, c *goredis.Client) (enabled bool, err error) {
	const option = "notify-keyspace-events"
	const advice = "; set notify-keyspace-events to KA on the server (redis-cli: config SET notify-keyspace-events KA)"
	answer, err := c.ConfigGet(ctx, option).Result()
	if err != nil {
		if strings.HasPrefix(err.Error(), "NOPERM") || strings.Contains(err.Error(), "unknown command") {
			// Hosted servers may not allow clients to read the configuration.
			d.log.Debug("cannot determine whether the server announces changes", "error", err)
			return false, nil
		}
		return false, err
	}
	have := answer[option]
	if announces(have) {
		return false, nil
	}
	if !d.cfg.EnableNotifications {
		return false, fmt.Errorf("the server does not announce changes (%s is %q)%s, or enable-keyspace-notifications in redis.conf", option, have, advice)
	}
	if err := c.ConfigSet(ctx, option, have+"KA").Err(); err != nil {
		return false, fmt.Errorf("the server does not announce changes and rejects the setting (%w)%s", err, advice)
	}
	d.log.Info("enabled keyspace notifications on the server", "server", c.Options().Addr, option, have+"KA")
	return true, nil
}

// announces reports whether the notification classes are sufficient.
func announces(classes string) bool {
	for _, class := range needed {
		if !strings.ContainsRune(classes, class) && (class == 'K' || !strings.Contains(classes, "A")) {
			return false
		}
	}
	return true
}

// addresses returns the addresses of the masters, sorted.
func (d *database) addresses(ctx context.Context) (all []string, err error) {
	var mu sync.Mutex
	err = d.eachMaster(ctx, func(_ context.Context, c *goredis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, c.Options().Addr)
		return nil
	})
	slices.Sort(all)
	return all, err
}

// listener collects the keys that servers announce.
type listener struct {
	wg    sync.WaitGroup
	mu    sync.Mutex
	dirty map[string]string // key -> its last event, such as "set"
	wake  chan struct{}     // buffered
}

func (l *listener) wait() { l.wg.Wait() }

func (l *listener) add(key, event string) {
	l.mu.Lock()
	l.dirty[key] = event
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take returns the announced keys with their last events.
func (l *listener) take() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	announced := l.dirty
	l.dirty = map[string]string{}
	return announced
}

// listen subscribes at every master, and returns when all have confirmed.
// Later errors cancel the context.
func (d *database) listen(ctx context.Context, cancel context.CancelCauseFunc, l *listener, prefix string) ([]string, error) {
	channel := fmt.Sprintf("__keyspace@%d__:", d.cfg.DB)
	var mu sync.Mutex
	var masters []string
	err := d.eachMaster(ctx, func(_ context.Context, c *goredis.Client) error {
		s := c.PSubscribe(ctx, escape(channel+prefix)+"*")
		first, err := s.ReceiveTimeout(ctx, d.cfg.DialTimeout+d.cfg.ReadTimeout)
		if _, ok := first.(*goredis.Subscription); err == nil && !ok {
			err = fmt.Errorf("got %v, expected the confirmation of a subscription", first)
		}
		if err != nil {
			_ = s.Close() // the first error is more useful
			return err
		}
		mu.Lock()
		masters = append(masters, c.Options().Addr)
		mu.Unlock()
		l.wg.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // wakes receive
			defer stop()
			cancel(receive(ctx, s, d.cfg.silence(), channel, l.add))
			_ = s.Close()
		})
		return nil
	})
	slices.Sort(masters)
	return masters, err
}

// receive reports the keys that a server announces, until the connection
// breaks. A subscription that the client has renewed by itself counts as
// broken, since notifications may have been missed.
func receive(ctx context.Context, s *goredis.PubSub, silence time.Duration, channel string, tell func(key, event string)) error {
	asked := false
	for {
		msg, err := s.ReceiveTimeout(ctx, silence)
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout() && !asked && ctx.Err() == nil:
			if err := s.Ping(ctx); err != nil {
				return err
			}
			asked = true
			continue
		case errors.As(err, &timeout) && timeout.Timeout() && ctx.Err() == nil:
			return fmt.Errorf("no response on the subscription for %v", 2*silence)
		case err != nil:
			return err
		}
		asked = false
		switch msg := msg.(type) {
		case *goredis.Message:
			tell(strings.TrimPrefix(msg.Channel, channel), msg.Payload)
		case *goredis.Subscription:
			return errors.New("the connection was lost")
		}
	}
}

package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// batch is the number of keys in one request.
const batch = 500

// database implements kv.DB.
type database struct {
	cfg     Config
	masters goredis.UniversalClient
	reads   goredis.UniversalClient // for reads of single entries
	log     logging.Logger

	mu     sync.Mutex
	warned map[string]string // server -> its maxmemory-policy, see warnOfEviction
}

var _ kv.DB = (*database)(nil)

// close closes the connections. The TLS shutdown fails if the server has closed a
// connection, which is harmless.
func (d *database) close() error {
	_ = d.masters.Close()
	if d.reads != d.masters {
		_ = d.reads.Close()
	}
	return nil
}

// Features reports that Redis has neither revisions nor entries bound to the
// lifetime of a client.
func (d *database) Features() kv.Features { return kv.Features{TTL: true, Shared: true} }

func (d *database) Get(ctx context.Context, key string) (kv.Item, error) {
	value, err := d.reads.Get(ctx, key).Bytes()
	if errors.Is(err, goredis.Nil) {
		err = kv.ErrNotFound
	}
	if err != nil {
		return kv.Item{}, wrap("get", key, err)
	}
	return kv.Item{Key: key, Value: value}, nil
}

// List implements kv.DB. Concurrent changes may or may not be included.
func (d *database) List(ctx context.Context, prefix string, opts ...kv.ListOption) (kv.Listing, error) {
	return d.list(ctx, d.reads, prefix, kv.CollectList(opts).KeysOnly)
}

func (d *database) list(ctx context.Context, c goredis.UniversalClient, prefix string, keysOnly bool) (l kv.Listing, err error) {
	keys, err := d.keys(ctx, prefix)
	if err != nil {
		return l, wrap("list", prefix, err)
	}
	if keysOnly {
		for _, key := range keys {
			l.Items = append(l.Items, kv.Item{Key: key})
		}
		return l, nil
	}
	events, err := d.fetch(ctx, c, keys)
	for _, ev := range events {
		if !ev.Deleted {
			l.Items = append(l.Items, ev.Item)
		}
	}
	l.Identity = d.identity(ctx)
	return l, wrap("list", prefix, err)
}

// keys returns the keys below a prefix, sorted.
func (d *database) keys(ctx context.Context, prefix string) (keys []string, err error) {
	var mu sync.Mutex
	err = d.eachMaster(ctx, func(ctx context.Context, c *goredis.Client) error {
		for cursor := uint64(0); ; {
			found, next, err := c.Scan(ctx, cursor, escape(prefix)+"*", batch).Result()
			if err != nil {
				return err
			}
			mu.Lock()
			keys = append(keys, found...)
			mu.Unlock()
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	})
	slices.Sort(keys)
	return slices.Compact(keys), err // SCAN may return duplicates
}

// escape returns a pattern that matches only the text.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}

// eachMaster calls f for every master concurrently.
func (d *database) eachMaster(ctx context.Context, f func(ctx context.Context, c *goredis.Client) error) error {
	switch c := d.masters.(type) {
	case *goredis.ClusterClient:
		return c.ForEachMaster(ctx, f)
	case *goredis.Client:
		return f(ctx, c)
	}
	return fmt.Errorf("a client of type %T", d.masters)
}

// fetch reads keys. A key that does not exist, or is not a string, counts as
// deleted.
func (d *database) fetch(ctx context.Context, c goredis.UniversalClient, keys []string) ([]kv.Event, error) {
	events := make([]kv.Event, 0, len(keys))
	for part := range slices.Chunk(keys, batch) {
		pipe := c.Pipeline()
		answers := make([]*goredis.StringCmd, len(part))
		for i, key := range part {
			answers[i] = pipe.Get(ctx, key)
		}
		_, _ = pipe.Exec(ctx) // every reply has its own error
		for i, key := range part {
			value, err := answers[i].Bytes()
			ev := kv.Event{Item: kv.Item{Key: key, Value: value}}
			switch {
			case err == nil:
			case errors.Is(err, goredis.Nil):
				ev.Deleted = true
			case strings.HasPrefix(err.Error(), "WRONGTYPE"):
				ev.Deleted = true
				d.log.Warn("ignoring a key below the prefix whose value is not a string", "key", key)
			default:
				return nil, err
			}
			events = append(events, ev)
		}
	}
	return events, nil
}

// Put implements kv.DB. TTLs have millisecond resolution.
func (d *database) Put(ctx context.Context, key string, value []byte, opts ...kv.PutOption) error {
	o := kv.CollectPut(opts)
	if o.ClientLifetime {
		return fmt.Errorf("redis: put %s: Redis has no entries bound to the lifetime of a client; use a TTL: %w", key, kv.ErrNotSupported)
	}
	if o.TTL > 0 {
		o.TTL = max(o.TTL, time.Millisecond)
	}
	return wrap("put", key, d.masters.Set(ctx, key, value, o.TTL).Err())
}

// Delete implements kv.DB. It deletes the keys of a prefix one by one: other
// clients may see some of them deleted.
func (d *database) Delete(ctx context.Context, key string, opts ...kv.DelOption) (n int64, err error) {
	if !kv.CollectDel(opts).Prefix {
		n, err = d.masters.Del(ctx, key).Result()
		return n, wrap("delete", key, err)
	}
	keys, err := d.keys(ctx, key)
	for part := range slices.Chunk(keys, batch) {
		pipe := d.masters.Pipeline()
		answers := make([]*goredis.IntCmd, len(part))
		for i, k := range part {
			answers[i] = pipe.Del(ctx, k)
		}
		_, perr := pipe.Exec(ctx)
		err = errors.Join(err, perr)
		for _, a := range answers {
			n += a.Val()
		}
	}
	return n, wrap("delete", key, err)
}

// Txn implements kv.DB. In a cluster all keys must be in the same slot (put a
// common part in braces), otherwise it returns ErrNotSupported.
func (d *database) Txn(ctx context.Context, ops ...kv.Op) error {
	if len(ops) == 0 {
		return nil
	}
	if c, ok := d.masters.(*goredis.ClusterClient); ok {
		if err := sameSlot(ctx, c, ops); err != nil {
			return wrap("transaction", ops[0].Key, err)
		}
	}
	_, err := d.masters.TxPipelined(ctx, func(pipe goredis.Pipeliner) error {
		for _, op := range ops {
			if op.Value == nil {
				pipe.Del(ctx, op.Key)
			} else {
				pipe.Set(ctx, op.Key, op.Value, 0)
			}
		}
		return nil
	})
	return wrap("transaction", ops[0].Key, err)
}

// sameSlot checks that all keys are in the same slot of a cluster.
func sameSlot(ctx context.Context, c *goredis.ClusterClient, ops []kv.Op) error {
	first, err := c.ClusterKeySlot(ctx, ops[0].Key).Result()
	for _, op := range ops[1:] {
		if err != nil {
			return err
		}
		var slot int64
		if slot, err = c.ClusterKeySlot(ctx, op.Key).Result(); err == nil && slot != first {
			return fmt.Errorf("a cluster cannot change %s in the same transaction: it is in another slot: %w", op.Key, kv.ErrNotSupported)
		}
	}
	return err
}

// swap is the script of CompareAndSwap. Its arguments: whether there is an old
// value, the old value, whether there is a new one, the new one.
const swap = `
local now = redis.call('GET', KEYS[1])
if ARGV[1] == '0' then
  if now then return 0 end
elseif now ~= ARGV[2] then
  return 0
end
if ARGV[3] == '0' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[4])
end
return 1`

func (d *database) CompareAndSwap(ctx context.Context, key string, old, value []byte) (bool, error) {
	flag := func(b []byte) int {
		if b == nil {
			return 0
		}
		return 1
	}
	done, err := d.masters.Eval(ctx, swap, []string{key}, flag(old), old, flag(value), value).Int()
	return done == 1, wrap("compare and swap", key, err)
}

// claim is the script of Claim. Its arguments: whether there is an old value, the old value,
// the new value, the TTL in milliseconds.
const claim = `
local now = redis.call('GET', KEYS[1])
if now and (ARGV[1] == '0' or now ~= ARGV[2]) then return now end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
return false`

// Claim implements kv.Claimer.
func (d *database) Claim(ctx context.Context, key string, old, value []byte, ttl time.Duration) ([]byte, error) {
	given := 0
	if old != nil {
		given = 1
	}
	present, err := d.masters.Eval(ctx, claim, []string{key}, given, old, value, ttl.Milliseconds()).Text()
	if errors.Is(err, goredis.Nil) {
		return nil, nil
	}
	return []byte(present), wrap("claim", key, err)
}

// Renew implements kv.Renewer. It does not write the value.
func (d *database) Renew(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	ok, err := d.masters.PExpire(ctx, key, ttl).Result()
	return ok, wrap("renew", key, err)
}

// WatchFrom is not supported, since Redis has no history.
func (d *database) WatchFrom(_ context.Context, prefix string, _ int64, _ func([]kv.Event) error) error {
	return fmt.Errorf("redis: watch %s: Redis has no history: %w", prefix, kv.ErrNotSupported)
}

func wrap(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redis: %s %s: %w", what, key, explain(err))
}

// explain adds the remedy to errors that require an operator to act.
func explain(err error) error {
	for _, known := range [][2]string{
		{"OOM", "the server is full: raise its maxmemory, or let it evict what is not configuration"},
		{"READONLY", "this server is a replica: expected the address of the master, or of the sentinels"},
		{"MISCONF", "the server cannot save to disk and rejects changes: check its disk"},
		{"NOAUTH", "the server requires a password: set password in redis.conf"},
		{"WRONGPASS", "the server rejected the password in redis.conf"},
		{"NOPERM", "the user may not do this: give it the permission (ACL SETUSER)"},
		{"MASTERDOWN", "the replica has lost its master and rejects requests"},
		{"CLUSTERDOWN", "some slots of the cluster have no server"},
	} {
		if strings.HasPrefix(err.Error(), known[0]) {
			return fmt.Errorf("%s (%w)", known[1], err)
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Errorf("no response from the server (%w)", err)
	}
	return err
}

package bolt

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// The buckets: the entries, the revisions of their last changes by this plugin, and the
// random ID of the file, which its copies share. The sequence number of the first bucket is
// the revision of the store.
var (
	entries   = []byte("root")
	revisions = []byte("revisions")
	identity  = []byte("identity")
	idKey     = []byte("id")
)

// database implements kv.DB.
type database struct {
	file    *bbolt.DB
	writing sync.Mutex // held over a change and its entry in the journal
	journal *journal
	filter  bool // suppress events of puts that do not change the value
}

var _ kv.DB = (*database)(nil)

// prepare creates the buckets and returns the revision. It writes nothing if they
// exist, so that a file on a full disk can be read.
func prepare(file *bbolt.DB) (revision int64, err error) {
	ready := false
	err = file.View(func(tx *bbolt.Tx) error {
		if root := tx.Bucket(entries); root != nil && tx.Bucket(revisions) != nil {
			revision, ready = int64(root.Sequence()), true
		}
		return nil
	})
	if err != nil || ready {
		return revision, err
	}
	err = file.Update(func(tx *bbolt.Tx) error {
		root, err := tx.CreateBucketIfNotExists(entries)
		if err != nil {
			return err
		}
		revision = int64(root.Sequence())
		if _, err = tx.CreateBucketIfNotExists(revisions); err != nil {
			return err
		}
		return identify(tx)
	})
	return revision, err
}

// identify gives the file an ID, unless it has one.
func identify(tx *bbolt.Tx) error {
	if fileID(tx) != "" {
		return nil
	}
	b, err := tx.CreateBucketIfNotExists(identity)
	if err != nil {
		return err
	}
	return b.Put(idKey, []byte("file "+rand.Text()))
}

// fileID returns the ID of the file; empty if an earlier version wrote it last.
func fileID(tx *bbolt.Tx) string {
	if b := tx.Bucket(identity); b != nil {
		return string(b.Get(idKey))
	}
	return ""
}

// Features reports that bolt supports only revisions: the other features need
// a server.
func (d *database) Features() kv.Features { return kv.Features{Revisions: true} }

func (d *database) Get(_ context.Context, key string) (item kv.Item, err error) {
	err = d.file.View(func(tx *bbolt.Tx) error {
		value := tx.Bucket(entries).Get([]byte(key))
		if value == nil {
			return kv.ErrNotFound
		}
		item = kv.Item{Key: key, Value: bytes.Clone(value), Revision: revisionOf(tx, []byte(key))}
		return nil
	})
	return item, wrap("get", key, err)
}

func revisionOf(tx *bbolt.Tx, key []byte) int64 {
	if b := tx.Bucket(revisions).Get(key); len(b) == 8 {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (d *database) List(ctx context.Context, prefix string, opts ...kv.ListOption) (l kv.Listing, err error) {
	keysOnly := kv.CollectList(opts).KeysOnly
	err = d.file.View(func(tx *bbolt.Tx) error {
		l.Revision = int64(tx.Bucket(entries).Sequence())
		l.Identity = kv.Identity{Store: fileID(tx), Revision: l.Revision}
		return each(tx, prefix, func(key, value []byte) error {
			item := kv.Item{Key: string(key), Revision: revisionOf(tx, key)}
			if !keysOnly {
				item.Value = bytes.Clone(value)
			}
			l.Items = append(l.Items, item)
			return ctx.Err()
		})
	})
	return l, wrap("list", prefix, err)
}

// each visits the entries below a prefix.
func each(tx *bbolt.Tx, prefix string, visit func(key, value []byte) error) error {
	c := tx.Bucket(entries).Cursor()
	for k, v := c.Seek([]byte(prefix)); k != nil && bytes.HasPrefix(k, []byte(prefix)); k, v = c.Next() {
		if v == nil {
			continue // a bucket of another program
		}
		if err := visit(k, v); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) Put(_ context.Context, key string, value []byte, opts ...kv.PutOption) error {
	if o := kv.CollectPut(opts); o.TTL > 0 || o.ClientLifetime {
		return fmt.Errorf("put %s: bolt keeps entries until they are deleted: %w", key, kv.ErrNotSupported)
	}
	return wrap("put", key, d.update(func(*bbolt.Tx) ([]kv.Op, error) {
		return []kv.Op{kv.PutOp(key, value)}, nil
	}))
}

func (d *database) Delete(_ context.Context, key string, opts ...kv.DelOption) (n int64, err error) {
	all := kv.CollectDel(opts).Prefix
	err = d.update(func(tx *bbolt.Tx) (ops []kv.Op, err error) {
		switch {
		case all:
			err = each(tx, key, func(k, _ []byte) error {
				ops = append(ops, kv.Op{Key: string(k)})
				return nil
			})
		case tx.Bucket(entries).Get([]byte(key)) != nil:
			ops = []kv.Op{{Key: key}}
		}
		n = int64(len(ops))
		return ops, err
	})
	return n, wrap("delete", key, err)
}

func (d *database) Txn(_ context.Context, ops ...kv.Op) error {
	return wrap("transaction", "", d.update(func(*bbolt.Tx) ([]kv.Op, error) { return kv.LastOps(ops), nil }))
}

func (d *database) CompareAndSwap(_ context.Context, key string, old, value []byte) (done bool, err error) {
	err = d.update(func(tx *bbolt.Tx) ([]kv.Op, error) {
		now := tx.Bucket(entries).Get([]byte(key))
		if done = (now == nil) == (old == nil) && bytes.Equal(now, old); !done {
			return nil, nil
		}
		return []kv.Op{{Key: key, Value: value}}, nil
	})
	return done && err == nil, wrap("compare and swap", key, err)
}

func (d *database) WatchFrom(ctx context.Context, prefix string, revision int64, handle func([]kv.Event) error) error {
	return wrap("watch", prefix, d.journal.watch(ctx, prefix, revision, handle))
}

// update applies the changes that decide returns in one transaction of the
// file, and notifies watchers when they are on disk.
func (d *database) update(decide func(*bbolt.Tx) ([]kv.Op, error)) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	var revision int64
	var events []kv.Event
	err := d.file.Update(func(tx *bbolt.Tx) error {
		ops, err := decide(tx)
		if err != nil || len(ops) == 0 {
			return err
		}
		revision, events, err = d.apply(tx, ops)
		return err
	})
	if err == nil && revision > 0 {
		d.journal.add(revision, events)
	}
	return err
}

func (d *database) apply(tx *bbolt.Tx, ops []kv.Op) (revision int64, events []kv.Event, err error) {
	if err := identify(tx); err != nil {
		return 0, nil, err
	}
	root, revs := tx.Bucket(entries), tx.Bucket(revisions)
	seq, err := root.NextSequence()
	if err != nil {
		return 0, nil, err
	}
	revision = int64(seq)
	var rev [8]byte
	binary.BigEndian.PutUint64(rev[:], seq)
	for _, op := range ops {
		key := []byte(op.Key)
		before := root.Get(key)
		ev := kv.Event{Item: kv.Item{Key: op.Key, Value: bytes.Clone(op.Value), Revision: revision}, Deleted: op.Value == nil}
		switch {
		case ev.Deleted && before == nil:
			continue
		case ev.Deleted:
			err = errors.Join(root.Delete(key), revs.Delete(key))
		default:
			same := before != nil && bytes.Equal(before, op.Value)
			err = errors.Join(root.Put(key, op.Value), revs.Put(key, rev[:]))
			if same && d.filter {
				continue
			}
		}
		if err != nil {
			return 0, nil, fmt.Errorf("%q: %w", op.Key, err)
		}
		events = append(events, ev)
	}
	return revision, events, nil
}

func wrap(what, key string, err error) error {
	if err == nil {
		return nil
	}
	if key != "" {
		what += " " + key
	}
	if kv.DiskFull(err) {
		return fmt.Errorf("bolt: %s: %w: nothing was changed; free disk space", what, err)
	}
	return fmt.Errorf("bolt: %s: %w", what, err)
}

package consul

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/follow"
)

// txnOps is how many operations Consul allows in a transaction.
const txnOps = 64

var _ kv.DB = (*database)(nil)

// Features reports that Consul has no history, and no short TTLs.
func (d *database) Features() kv.Features {
	return kv.Features{TTL: true, MinTTL: minTTL, TxnOps: txnOps, Shared: true, TextKeys: true}
}

// name returns the key in Consul.
func name(key string) (string, error) {
	if !strings.HasPrefix(key, "/") || !utf8.ValidString(key) {
		return "", fmt.Errorf("%q: expected a key of UTF-8 text that begins with /: %w", key, kv.ErrNotSupported)
	}
	return key[1:], nil
}

func (d *database) Get(ctx context.Context, key string) (kv.Item, error) {
	n, err := name(key)
	if err != nil {
		return kv.Item{}, wrap("get", key, err)
	}
	pairs, err := d.transact(ctx, verb{Verb: "get", Key: n})
	if missing(err) || err == nil && len(pairs) == 0 {
		err = kv.ErrNotFound
	}
	if err != nil {
		return kv.Item{}, wrap("get", key, err)
	}
	return item(pairs[0]), nil
}

func item(p pair) kv.Item {
	return kv.Item{Key: "/" + p.Key, Value: append([]byte{}, p.Value...)} // an empty value is not nil
}

func (d *database) List(ctx context.Context, prefix string, opts ...kv.ListOption) (kv.Listing, error) {
	pairs, index, err := d.read(ctx, strings.TrimPrefix(prefix, "/"), 0)
	if err != nil {
		return kv.Listing{}, wrap("list", prefix, err)
	}
	l := d.identified(ctx, pairs, index)
	if kv.CollectList(opts).KeysOnly {
		for i := range l.Items {
			l.Items[i].Value = nil
		}
	}
	return l, nil
}

func listing(pairs []pair) (l kv.Listing) {
	l.Items = make([]kv.Item, 0, len(pairs))
	for _, p := range pairs {
		l.Items = append(l.Items, item(p))
	}
	slices.SortFunc(l.Items, func(a, b kv.Item) int { return cmp.Compare(a.Key, b.Key) })
	return l
}

// identified returns a listing with the identity of the store.
func (d *database) identified(ctx context.Context, pairs []pair, index uint64) kv.Listing {
	l := indexed(pairs, max(index, d.newest(ctx)))
	l.Identity.Store = d.cluster(ctx)
	return l
}

// indexed returns a listing with an index of the store.
func indexed(pairs []pair, index uint64) kv.Listing {
	l := listing(pairs)
	l.Identity.Revision = int64(min(index, math.MaxInt64))
	return l
}

// Put implements kv.DB. See putFor for TTLs. Put removes the TTL of an earlier one; Txn and
// CompareAndSwap keep it.
func (d *database) Put(ctx context.Context, key string, value []byte, opts ...kv.PutOption) error {
	o := kv.CollectPut(opts)
	if o.ClientLifetime {
		return fmt.Errorf("consul: put %s: Consul has no entries bound to the lifetime of a client; use a TTL: %w", key, kv.ErrNotSupported)
	}
	if o.TTL > 0 {
		return wrap("put", key, d.putFor(ctx, o.TTL, key, value))
	}
	n, err := name(key)
	if err != nil {
		return wrap("put", key, err)
	}
	set := verb{Verb: "set", Key: n, Value: value}
	pairs, err := d.transact(ctx, set)
	if err == nil && len(pairs) > 0 && pairs[0].Session != "" { // it would expire with the session
		_, err = d.transact(ctx, verb{Verb: "delete", Key: n}, set)
	}
	return wrap("put", key, err)
}

func (d *database) Delete(ctx context.Context, key string, opts ...kv.DelOption) (int64, error) {
	n, err := name(key)
	if err != nil {
		return 0, wrap("delete", key, err)
	}
	verbs := []verb{{Verb: "get", Key: n}, {Verb: "delete", Key: n}}
	if kv.CollectDel(opts).Prefix {
		verbs = []verb{{Verb: "get-tree", Key: n}, {Verb: "delete-tree", Key: n}}
	}
	pairs, err := d.transact(ctx, verbs...)
	if missing(err) {
		return 0, nil
	}
	return int64(len(pairs)), wrap("delete", key, err)
}

func (d *database) Txn(ctx context.Context, ops ...kv.Op) error {
	ops = kv.LastOps(ops)
	switch n := len(ops); {
	case n == 0:
		return nil
	case n > txnOps:
		return fmt.Errorf("consul: transaction of %d changes: expected at most %d", n, txnOps)
	}
	var verbs []verb
	for _, op := range ops {
		n, err := name(op.Key)
		if err != nil {
			return wrap("put", op.Key, err)
		}
		v := verb{Verb: "delete", Key: n}
		if op.Value != nil {
			v = verb{Verb: "set", Key: n, Value: op.Value}
		}
		verbs = append(verbs, v)
	}
	_, err := d.transact(ctx, verbs...)
	return wrap("put", ops[0].Key, err)
}

// CompareAndSwap implements kv.DB. Consul compares indexes, so it reads the
// value and swaps it if the entry has not changed since.
func (d *database) CompareAndSwap(ctx context.Context, key string, old, value []byte) (bool, error) {
	n, err := name(key)
	if err != nil {
		return false, wrap("compare and swap", key, err)
	}
	for ctx.Err() == nil {
		pairs, err := d.transact(ctx, verb{Verb: "get", Key: n})
		if err != nil && !missing(err) {
			return false, wrap("compare and swap", key, err)
		}
		exists := len(pairs) > 0
		if exists != (old != nil) || exists && !bytes.Equal(pairs[0].Value, old) {
			return false, nil
		}
		v := verb{Verb: "cas", Key: n, Value: value} // an index of 0: the key must not exist
		if exists {
			v.Index = pairs[0].ModifyIndex
		}
		if value == nil {
			if !exists {
				return true, nil
			}
			v.Verb = "delete-cas"
		}
		_, err = d.transact(ctx, v)
		if _, conflict := errors.AsType[conflictError](err); !conflict {
			return err == nil, wrap("compare and swap", key, err)
		}
	}
	return false, wrap("compare and swap", key, ctx.Err())
}

// WatchFrom is not supported, since Consul has no history.
func (d *database) WatchFrom(_ context.Context, prefix string, _ int64, _ func([]kv.Event) error) error {
	return fmt.Errorf("consul: watch %s: Consul has no history: %w", prefix, kv.ErrNotSupported)
}

// session follows the store until an error occurs, see follow.Session.
func (d *database) session(ctx context.Context, v *follow.View) error {
	prefix := strings.TrimPrefix(v.Prefix(), "/")
	var index uint64
	for {
		pairs, now, err := d.read(ctx, prefix, index)
		if err != nil {
			return wrap("watch", v.Prefix(), err)
		}
		switch {
		case index == 0 || now < index:
			v.Replace(d.identified(ctx, pairs, now))
		case now > index:
			v.Continue(indexed(pairs, now))
		}
		// An index that is smaller than before belongs to another history, and a
		// query must not block on it; neither on 0.
		if now < index {
			now = 0
		}
		index = now
	}
}

func wrap(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("consul: %s %s: %w", what, key, err)
}

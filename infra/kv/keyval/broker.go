package keyval

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// NewBroker returns a broker. It calls store for each request, because a connector has no
// store before its Init.
func NewBroker(store func() Store, keyPrefix string) ProtoBroker {
	return &broker{store, keyPrefix}
}

type broker struct {
	store  func() Store
	prefix string
}

func (b *broker) Put(key string, data proto.Message, opts ...datasync.PutOption) error {
	s := b.store()
	return kv.Publish(s.Context, s.Timeout, s.DB, b.prefix+key, data, opts...)
}

func (b *broker) Delete(key string, opts ...datasync.DelOption) (existed bool, err error) {
	s := b.store()
	return kv.Withdraw(s.Context, s.Timeout, s.DB, b.prefix+key, opts...)
}

// enabled returns the store and the context of a request.
func (b *broker) enabled(what, key string) (Store, context.Context, context.CancelFunc, error) {
	s := b.store()
	if s.DB == nil {
		return s, nil, nil, fmt.Errorf("%s %s: %w", what, b.prefix+key, kv.ErrDisabled)
	}
	ctx, cancel := context.WithTimeout(s.Context, s.Timeout)
	return s, ctx, cancel, nil
}

func (b *broker) GetValue(key string, reqObj proto.Message) (found bool, revision int64, err error) {
	s, ctx, cancel, err := b.enabled("get", key)
	if err != nil {
		return false, 0, err
	}
	defer cancel()
	item, err := s.DB.Get(ctx, b.prefix+key)
	if errors.Is(err, kv.ErrNotFound) {
		return false, 0, nil
	}
	if err == nil {
		err = s.value(item.Value).Decode(reqObj)
	}
	if err != nil {
		return false, 0, fmt.Errorf("get %s: %w", b.prefix+key, err)
	}
	return true, item.Revision, nil
}

func (b *broker) list(prefix string, opts ...kv.ListOption) (Store, []kv.Item, error) {
	s, ctx, cancel, err := b.enabled("list", prefix)
	if err != nil {
		return s, nil, err
	}
	defer cancel()
	listing, err := s.DB.List(ctx, b.prefix+prefix, opts...)
	if err != nil {
		return s, nil, fmt.Errorf("list %s: %w", b.prefix+prefix, err)
	}
	return s, listing.Items, nil
}

func (b *broker) ListValues(prefix string) (ProtoKeyValIterator, error) {
	s, items, err := b.list(prefix)
	if err != nil {
		return nil, err
	}
	values := &valueIterator{}
	for _, it := range items {
		values.values = append(values.values, &keyVal{strings.TrimPrefix(it.Key, b.prefix), it.Revision, s.value(it.Value)})
	}
	return values, nil
}

func (b *broker) ListKeys(prefix string) (ProtoKeyIterator, error) {
	_, items, err := b.list(prefix, kv.KeysOnly())
	if err != nil {
		return nil, err
	}
	return &keyIterator{b.prefix, items}, nil
}

type keyIterator struct {
	prefix string
	items  []kv.Item // remaining
}

func (k *keyIterator) GetNext() (key string, rev int64, stop bool) {
	if len(k.items) == 0 {
		return "", 0, true
	}
	next := k.items[0]
	k.items = k.items[1:]
	return strings.TrimPrefix(next.Key, k.prefix), next.Revision, false
}

func (k *keyIterator) Close() error { return nil }

type valueIterator struct {
	values []*keyVal // remaining
}

func (v *valueIterator) GetNext() (kv ProtoKeyVal, stop bool) {
	if len(v.values) == 0 {
		return nil, true
	}
	next := v.values[0]
	v.values = v.values[1:]
	return next, false
}

func (v *valueIterator) Close() error { return nil }

type keyVal struct {
	key      string
	revision int64
	value    kv.Value // nil: deleted
}

func (k *keyVal) GetKey() string     { return k.key }
func (k *keyVal) GetRevision() int64 { return k.revision }

func (k *keyVal) GetValue(into proto.Message) error {
	if k.value == nil {
		return fmt.Errorf("%s: %w", k.key, kv.ErrNotFound)
	}
	return k.value.Decode(into)
}

func (k *keyVal) GetPrevValue(proto.Message) (bool, error) { return false, nil }

func (b *broker) NewTxn() ProtoTxn { return &txn{broker: b} }

type txn struct {
	broker *broker
	ops    []kv.Op
	err    error
}

func (t *txn) Put(key string, data proto.Message) ProtoTxn {
	if data == nil {
		return t.Delete(key)
	}
	value, err := kv.Encode(data)
	if err != nil {
		t.err = errors.Join(t.err, fmt.Errorf("put %s: %w", t.broker.prefix+key, err))
	}
	t.ops = append(t.ops, kv.PutOp(t.broker.prefix+key, value))
	return t
}

func (t *txn) Delete(key string) ProtoTxn {
	t.ops = append(t.ops, kv.Op{Key: t.broker.prefix + key})
	return t
}

func (t *txn) Commit(ctx context.Context) error {
	s := t.broker.store()
	if t.err != nil {
		return t.err
	}
	if s.DB == nil {
		return fmt.Errorf("commit to %s: %w", s.Name, kv.ErrDisabled)
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	return s.DB.Txn(ctx, t.ops...)
}

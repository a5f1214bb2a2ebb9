package kvtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/keyval"
)

// brokers checks the key-value API of cn-infra.
func brokers(b *bench) {
	plugin, ok := b.c.(keyval.KvProtoPlugin)
	if !ok {
		b.Fatalf("%T has no brokers", b.c)
	}
	connected := make(chan bool)
	plugin.OnConnect(func() error {
		close(connected)
		return errors.New("only logged")
	})
	receive(b, connected)
	broker := plugin.NewBroker(b.prefix)
	b.ok(broker.Put("old", message("before the watch")))
	changes := make(chan keyval.ProtoWatchResp)
	closing := make(chan string)
	b.ok(plugin.NewWatcher(b.prefix).Watch(keyval.ToChanProto(changes), closing, "a/", "b/", "old"))
	want := func(want string) {
		b.Helper()
		if got := describe(receive(b, changes)); got != want {
			b.Errorf("got %q, expected %q", got, want)
		}
	}

	b.ok(broker.Put("a/1", message("one")))
	want("a/1 = one, before: false")
	b.ok(broker.Put("a/1", message("two")))
	want("a/1 = two, before: true one")
	b.brokerTxn(broker)
	want("b/1 = three, before: false")
	found := structpb.Struct{}
	if ok, _, err := broker.GetValue("a/1", &found); !ok || err != nil || found.Fields["text"].GetStringValue() != "two" {
		b.Errorf("get: %v, %v, %v", ok, err, &found)
	}
	if ok, _, err := broker.GetValue("nothing", &found); ok || err != nil {
		b.Errorf("get of nothing: %v, %v", ok, err)
	}
	b.lists(broker)
	if existed, err := broker.Delete("a/1"); !existed || err != nil {
		b.Errorf("delete: %v, %v", existed, err)
	}
	want("a/1 deleted, before: true two")

	closing <- "a/"
	closing <- "none" // is received when the watch of a/ has ended
	b.ok(broker.Put("a/1", message("not watched")))
	b.ok(broker.Put("b/1", message("watched")))
	want("b/1 = watched, before: true three")
	// The other watches end with the connector, although no one receives this.
	b.ok(broker.Put("b/1", message("not received")))
}

// brokerTxn puts the value b/1, with a deletion, in a transaction.
func (b *bench) brokerTxn(broker keyval.ProtoBroker) {
	b.Helper()
	txn := broker.NewTxn().Put("b/1", message("three")).Delete("c/1").Put("c/2", nil)
	err := txn.Commit(b.ctx)
	if errors.Is(err, kv.ErrNotSupported) {
		err = broker.Put("b/1", message("three"))
	}
	b.ok(err)
}

func (b *bench) lists(broker keyval.ProtoBroker) {
	b.Helper()
	var keys, values []string
	it, err := broker.ListKeys("")
	b.ok(err)
	for {
		key, _, stop := it.GetNext()
		if stop {
			break
		}
		keys = append(keys, key)
	}
	b.ok(it.Close())
	if want := []string{"a/1", "b/1", "old"}; !slices.Equal(keys, want) {
		b.Errorf("keys %q, expected %q", keys, want)
	}
	all, err := broker.ListValues("a/")
	b.ok(err)
	for {
		next, stop := all.GetNext()
		if stop {
			break
		}
		values = append(values, describe(next))
	}
	b.ok(all.Close())
	if want := []string{"a/1 = two, before: false"}; !slices.Equal(values, want) {
		b.Errorf("values %q, expected %q", values, want)
	}
}

func receive[T any](b *bench, ch <-chan T) (v T) {
	b.Helper()
	select {
	case v = <-ch:
	case <-b.ctx.Done():
		b.Fatal("nothing was received")
	}
	return v
}

func message(s string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(s)}}
}

func describe(c keyval.ProtoKeyVal) string {
	var value, prev structpb.Struct
	line := c.GetKey()
	if ch, ok := c.(keyval.ProtoWatchResp); ok && ch.GetChangeType() == datasync.Delete {
		line += " deleted"
		if err := c.GetValue(&value); !errors.Is(err, kv.ErrNotFound) {
			line += fmt.Sprintf(", but with a value: %v", err)
		}
	} else if err := c.GetValue(&value); err != nil {
		line += ": " + err.Error()
	} else {
		line += " = " + value.Fields["text"].GetStringValue()
	}
	had, err := c.GetPrevValue(&prev)
	if err != nil {
		return line + ", before: " + err.Error()
	}
	return strings.TrimSuffix(fmt.Sprintf("%s, before: %v %s", line, had, prev.Fields["text"].GetStringValue()), " ")
}

package configurator

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
)

// models of an orchestrator, and nothing else of it.
type onlyModels struct {
	Orchestrator
	set *models.Set
}

func (o onlyModels) Models() *models.Set                 { return o.set }
func (onlyModels) ListData(string) []orchestrator.KeyVal { return nil }

// Convert is the conversion of requests, without anything behind it.
func Convert(f *testing.F) func(t *testing.T, u *generic.UpdateItem) {
	set, err := allmodels.Set()
	if err != nil {
		f.Fatal(err)
	}
	p := &Plugin{byMessage: map[string]models.Known{}}
	p.Orchestrator = onlyModels{set: set}
	for _, m := range set.All() {
		p.byMessage[string(m.ProtoName())] = m
	}
	return func(t *testing.T, u *generic.UpdateItem) {
		items, err := p.updates([]*generic.UpdateItem{u})
		if err != nil {
			if status.Code(err) != codes.InvalidArgument || len(items) > 0 {
				t.Fatalf("%v, with %v", err, items)
			}
			return
		}
		model, ok := set.ForKey(items[0].Key)
		if !ok || !model.Matches(items[0].Key) {
			t.Fatalf("key %q has no model", items[0].Key)
		}
		if items[0].Val != nil {
			if key, err := model.KeyOf(items[0].Val); key != items[0].Key || err != nil {
				t.Fatalf("key %q, %v, want %q", key, err, items[0].Key)
			}
		}
	}
}

// NewEvents returns a log of events of a size, with what adds to it and what
// reads from it.
func NewEvents(limit int) (add func(*pb.Notification), since func(uint64) (indexes []uint64, list []*pb.Notification)) {
	e := newEvents(limit)
	return e.add, func(from uint64) (indexes []uint64, list []*pb.Notification) {
		events, _ := e.since(from)
		for _, ev := range events {
			indexes, list = append(indexes, ev.index), append(list, ev.what)
		}
		return indexes, list
	}
}

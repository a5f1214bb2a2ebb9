package kvscheduler_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// sent is what a southbound has sent.
type sent struct{ records uint64 }

func (s *sent) Records() uint64 { return s.records }

// Clients see how far a transaction is while it is executed.
func TestProgress(t *testing.T) {
	t.Parallel()
	southbound := &sent{records: 100}
	begun, proceed := make(chan struct{}), make(chan struct{})
	pause := func() { begun <- struct{}{}; <-proceed }
	d := &api.Descriptor[*model.Item, any]{
		Name: "tap", KeySelector: func(string) bool { return true }, NBKeyPrefix: "tap/",
		Create: func(string, *model.Item) (any, error) { pause(); return nil, nil },
		Delete: func(string, *model.Item, any) error { return nil },
		Retrieve: func([]api.KV[*model.Item, any]) ([]api.KV[*model.Item, any], error) {
			southbound.records += 620_000
			pause()
			return nil, nil
		},
	}
	conf := rest.DefaultConfig()
	conf.Endpoint = "127.0.0.1:0"
	server := rest.NewPlugin(rest.UseConf(conf))
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}), kvscheduler.UseDeps(func(deps *kvscheduler.Deps) {
		deps.HTTP, deps.Records = server, southbound
	}))
	agenttest.Start(t, s)
	defer http.DefaultClient.CloseIdleConnections()
	if err := s.RegisterKVDescriptor(api.Adapt(d)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		txn := s.StartNBTransaction()
		for i := range 3 {
			txn.SetValue(fmt.Sprint("tap/", i), &model.Item{})
		}
		_, err := txn.Commit(t.Context(), api.WithResync(api.FullResync, false))
		done <- err
	}()
	for want, summary := range stages() {
		<-begun
		var queue struct {
			Running struct{ Progress api.Progress }
		}
		body := ask(t, http.MethodGet, server.URL()+"/scheduler/queue")
		if err := json.Unmarshal([]byte(body[bytes.IndexByte([]byte(body), '{'):]), &queue); err != nil || queue.Running.Progress != want {
			t.Errorf("%v: got %+v, expected %+v", err, queue.Running.Progress, want)
		}
		if got := s.Summary(); !strings.HasSuffix(got, summary) {
			t.Errorf("summary %q, expected %q", got, summary)
		}
		proceed <- struct{}{}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.TransactionBarrier()
	if got := s.Summary(); got != "3 of 3 values in effect" {
		t.Errorf("summary %q", got)
	}
}

// stages are the stages of the transaction of TestProgress, with the summary of each.
func stages() iter.Seq2[api.Progress, string] {
	return func(yield func(api.Progress, string) bool) {
		_ = yield(api.Progress{Phase: api.PhaseRetrieving, Descriptor: "tap", Done: 620_000}, " values in effect, retrieving tap") &&
			yield(api.Progress{Phase: api.PhaseExecuting, Total: 3}, " values in effect, executing 0 of 3 operations") &&
			yield(api.Progress{Phase: api.PhaseExecuting, Done: 1, Total: 3}, " values in effect, executing 1 of 3 operations") &&
			yield(api.Progress{Phase: api.PhaseExecuting, Done: 2, Total: 3}, " values in effect, executing 2 of 3 operations")
	}
}

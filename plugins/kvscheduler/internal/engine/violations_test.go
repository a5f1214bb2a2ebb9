package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/contract"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Contract violations of a Retrieve are counted, and reported until a Retrieve is
// correct.
func TestRetrieveViolations(t *testing.T) {
	t.Parallel()
	broken := true
	var retrieveErr error
	d := api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/",
		Create: func(string, *model.Item) (any, error) { return nil, nil },
		Delete: func(string, *model.Item, any) error { return nil },
		Retrieve: func(correlate []api.KV[*model.Item, any]) ([]api.KV[*model.Item, any], error) {
			if retrieveErr != nil {
				return correlate[:len(correlate)/2], retrieveErr
			}
			if broken {
				correlate = append(correlate, correlate[0], api.KV[*model.Item, any]{Key: "b/1", Value: &model.Item{}})
			}
			return correlate, nil
		},
	})
	var told [][]contract.Violation
	c := engine.New(engine.Options{Conditions: &conditions{violations: func(b []contract.Violation) { told = append(told, b) }}})
	runWith(t, c, d)
	set(t, c, "a/1", &model.Item{}, "a/2", &model.Item{})
	resync := func() {
		t.Helper()
		if _, err := c.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
			t.Fatal(err)
		}
	}
	resync()
	var texts []string
	for _, b := range told[len(told)-1] {
		texts = append(texts, b.Descriptor+": "+b.Problem)
	}
	want := `a: retrieved key "a/1" twice; a: retrieved key "b/1", which it does not select`
	if got := strings.Join(texts, "; "); got != want || c.CountViolations()["a"] != 2 {
		t.Errorf("got %s, counted %v", got, c.CountViolations())
	}
	broken = false
	resync()
	if last := told[len(told)-1]; len(last) > 0 {
		t.Errorf("still told: %v", last)
	}
	// A part with an error is no answer: nothing is missing on its account.
	retrieveErr = errors.New("cut off")
	resync()
	for _, key := range []string{"a/1", "a/2"} {
		if got := c.GetValueStatus(key).GetValue().GetState(); got != kvscheduler.ValueState_CONFIGURED {
			t.Errorf("%s is %v after half an answer", key, got)
		}
	}
}

func TestCheckContracts(t *testing.T) {
	t.Parallel()
	d := api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: "a", KeySelector: hasPrefix("a/"), NBKeyPrefix: "a/",
		Create: func(_ string, it *model.Item) (any, error) { it.Value++; return nil, nil },
		Delete: func(string, *model.Item, any) error { return nil },
	})
	c := engine.New(engine.Options{CheckContracts: true})
	runWith(t, c, d)
	_, err := c.StartNBTransaction().SetValue("a/1", &model.Item{}).Commit(t.Context())
	if err == nil || !errors.Is(err, api.ErrPermanent) || !strings.Contains(err.Error(), `descriptor "a": Create changed the value`) {
		t.Errorf("got %v", err)
	}
}

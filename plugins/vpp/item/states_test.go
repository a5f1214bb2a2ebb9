package item_test

import (
	"context"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/models"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
)

// notified collects the keys that exist, and those that do not, after notifications.
type notified struct {
	kvs.Notifier
	exists map[string]bool
}

func (n *notified) PushSBNotification(changes ...kvs.KVWithMetadata) error {
	for _, c := range changes {
		n.exists[c.Key] = c.Value != nil
	}
	return nil
}

// A thing that only the scheduler has read, and that is gone at the first report, is reported.
func TestStatesOfWhatIsGone(t *testing.T) {
	t.Parallel()
	now := map[string]string{"a": "UP", "b": "DOWN"}
	states := &item.States[string]{
		Name: "thing-state", Template: models.MustKeyTemplate("thing/{name}/state/{state}"), All: []string{"DOWN", "UP"},
		Key:  func(k, state string) string { return "thing/" + k + "/state/" + state },
		Read: func(context.Context) (map[string]string, error) { return now, nil },
	}
	found, err := states.Descriptor().RetrieveContext(t.Context(), nil)
	if err != nil || len(found) != 2 {
		t.Fatalf("retrieved %v, %v", found, err)
	}
	now = map[string]string{"b": "UP"}
	n := &notified{exists: map[string]bool{}}
	if err := states.Report(t.Context(), n, false); err != nil {
		t.Fatal(err)
	}
	var there, gone []string
	for key, exists := range n.exists {
		if exists {
			there = append(there, key)
		} else {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	if !slices.Equal(there, []string{"thing/b/state/UP"}) || !slices.Equal(gone, []string{"thing/a/state/DOWN", "thing/a/state/UP", "thing/b/state/DOWN"}) {
		t.Errorf("reported %v, and %v as gone", there, gone)
	}
}

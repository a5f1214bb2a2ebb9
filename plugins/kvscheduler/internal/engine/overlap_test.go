package engine_test

import (
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// The southbound of the random test reports two operations on one key at the same time,
// also while it accepts everything else, and however late the first one returns.
func TestWorldReportsOverlap(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.setLoose(true)
	mode := "hang "
	w.fail = func(string, string) string { return mode }
	returned := make(chan error)
	go func() {
		_, err := w.create(t.Context(), "a/0", &model.Item{})
		returned <- err
	}()
	key := <-w.hung
	w.mu.Lock()
	h := w.hanging[key]
	mode = ""
	w.mu.Unlock()
	if _, err := w.create(t.Context(), "b/0", &model.Item{}); err != nil || len(w.problems) > 0 {
		t.Fatalf("another key: %v, problems %q", err, w.problems)
	}
	if err := w.delete(t.Context(), "a/0", nil, nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"delete a/0: while create"}; !slices.Equal(w.problems, want) {
		t.Errorf("problems %q, expected %q", w.problems, want)
	}
	close(h.until)
	if err := <-returned; err != nil {
		t.Fatal(err)
	}
	w.problems = nil
	if err := w.delete(t.Context(), "a/0", nil, nil); err != nil || len(w.problems) > 0 {
		t.Errorf("after the return: %v, problems %q", err, w.problems)
	}
}

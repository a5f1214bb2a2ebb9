package app_test

import (
	"net/http"
	"slices"
	"testing"
)

// TestCallbacksTakeContexts: every callback for VPP and Linux takes a context, so that it
// ends when it is given up.
func TestCallbacksTakeContexts(t *testing.T) {
	t.Parallel()
	h := newSimulatedHouse(t, "", "--simulate")
	h.start(t)
	h.awaitReadiness(t, http.StatusOK, "")
	southbounds := []string{"vpp", "linux"}
	withContext := map[string]int{} // callbacks by southbound
	for _, d := range h.Scheduler.ListDescriptors() {
		if !slices.Contains(southbounds, d.Southbound) {
			continue
		}
		for _, c := range []struct {
			name           string
			plain, context bool
		}{
			{"Create", d.Create != nil, d.CreateContext != nil},
			{"Update", d.Update != nil, d.UpdateContext != nil},
			{"Delete", d.Delete != nil, d.DeleteContext != nil},
			{"Retrieve", d.Retrieve != nil, d.RetrieveContext != nil},
			{"RetrieveValue", d.RetrieveValue != nil, d.RetrieveValueContext != nil},
		} {
			if c.plain {
				t.Errorf("descriptor %q: %s takes no context", d.Name, c.name)
			}
			if c.context {
				withContext[d.Southbound]++
			}
		}
	}
	for _, southbound := range southbounds {
		if withContext[southbound] == 0 {
			t.Errorf("no callbacks for %s", southbound)
		}
	}
}

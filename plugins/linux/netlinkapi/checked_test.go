package netlinkapi_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// silent panics when it is asked for something.
type silent struct{ netlinkapi.Handle }

// TestCheckedAsksNothing: no method of a checked handle reaches the kernel when the check
// fails, except those that ask nothing.
func TestCheckedAsksNothing(t *testing.T) {
	t.Parallel()
	canceled := errors.New("canceled")
	h := netlinkapi.Checked(silent{}, func() error { return canceled }, nil)
	methods := reflect.TypeFor[netlinkapi.Handle]()
	for i := range methods.NumMethod() {
		m := methods.Method(i)
		if m.Name == "Namespace" || m.Name == "Close" {
			continue
		}
		args := make([]reflect.Value, m.Type.NumIn())
		for n := range args {
			if args[n] = reflect.Zero(m.Type.In(n)); args[n].Kind() == reflect.Slice {
				args[n] = reflect.MakeSlice(m.Type.In(n), 1, 1)
			}
		}
		results := reflect.ValueOf(h).MethodByName(m.Name).Call(args)
		last := results[len(results)-1].Interface()
		if all, ok := last.([]error); ok && len(all) == 1 { // one for each of several requests
			last = all[0]
		}
		if err, _ := last.(error); !errors.Is(err, canceled) {
			t.Errorf("%s returned %v", m.Name, err)
		}
	}
}

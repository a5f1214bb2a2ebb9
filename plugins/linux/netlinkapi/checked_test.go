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
	h := netlinkapi.Checked(silent{}, func() error { return canceled })
	methods := reflect.TypeFor[netlinkapi.Handle]()
	for i := range methods.NumMethod() {
		m := methods.Method(i)
		if m.Name == "Namespace" || m.Name == "Close" {
			continue
		}
		args := make([]reflect.Value, m.Type.NumIn())
		for n := range args {
			args[n] = reflect.Zero(m.Type.In(n))
		}
		results := reflect.ValueOf(h).MethodByName(m.Name).Call(args)
		if err, _ := results[len(results)-1].Interface().(error); !errors.Is(err, canceled) {
			t.Errorf("%s returned %v", m.Name, err)
		}
	}
}

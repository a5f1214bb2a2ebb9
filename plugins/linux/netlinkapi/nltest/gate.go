package nltest

import (
	"context"
	"errors"
	"net/netip"
	"reflect"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// testCanceled: no call with a context that has ended reaches the kernel. The arguments are zero
// values, which none of them gets to use.
func testCanceled(t *testing.T, w *World) {
	h := w.Make(t, "a")
	cause := errors.New("given up")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
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
		args[0] = reflect.ValueOf(ctx)
		results := reflect.ValueOf(h).MethodByName(m.Name).Call(args)
		last := results[len(results)-1].Interface()
		if all, ok := last.([]error); ok && len(all) == 1 { // one for each of several changes
			last = all[0]
		}
		if err, _ := last.(error); !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s returned %v", m.Name, err)
		}
	}
}

// testExplain: errors of the kernel are explained, errors of sockets are not.
func testExplain(t *testing.T, w *World) {
	w.Make(t, "a")
	explained := errors.New("explained")
	h, err := w.Namespaces.Open(w.Path("a"), netlinkapi.Gate{Explain: func(err error) error { return errors.Join(explained, err) }})
	must(t, err)
	defer h.Close()
	expect(t, "delete a missing link", h.DeleteLink(t.Context(), 99), explained)
	_, err = h.LinkByName(t.Context(), "none")
	expect(t, "find a missing link", err, explained)
	expect(t, "add a route through a missing link", h.ChangeRoutes(t.Context(), netlinkapi.OpAdd, []netlinkapi.Route{aRoute(99)})[0], explained)
	if _, err = h.Dial(t.Context(), "unix", w.Path("none")); err == nil || errors.Is(err, explained) {
		t.Errorf("connect to a missing socket: %v", err)
	}
}

func aRoute(link int) netlinkapi.Route {
	return netlinkapi.Route{Link: link, Dst: netip.MustParsePrefix("10.9.0.0/16"), Scope: netlinkapi.ScopeLink, Protocol: netlinkapi.ProtocolAgent}
}

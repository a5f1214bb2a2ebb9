package ifaceidx_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
)

// asked is a VPP that notes what it is asked for.
type asked struct {
	tags  map[uint32]string
	about []string
	err   error
}

func (a *asked) answer(_ context.Context, swIfIndex uint32) (map[uint32]string, error) {
	if swIfIndex == ifaceidx.AllInterfaces {
		a.about = append(a.about, "all")
		return maps.Clone(a.tags), a.err
	}
	a.about = append(a.about, fmt.Sprint(swIfIndex))
	if tag, ok := a.tags[swIfIndex]; ok && a.err == nil {
		return map[uint32]string{swIfIndex: tag}, nil
	}
	return nil, a.err
}

func TestLooks(t *testing.T) {
	t.Parallel()
	store := idxmap.New[*ifaceidx.IfMeta]("vpp-interface")
	vpp := &asked{tags: map[uint32]string{9: ""}}
	for i := range uint32(8) {
		if err := store.Put(fmt.Sprint("if", i+1), &ifaceidx.IfMeta{SwIfIndex: i + 1}); err != nil {
			t.Fatal(err)
		}
		vpp.tags[i+1] = fmt.Sprint("if", i+1)
	}
	delete(vpp.tags, 2)
	vpp.tags[3] = "" // another process's by now
	x, err := ifaceidx.New(store)
	if err != nil {
		t.Fatal(err)
	}
	x = x.Asking(vpp.answer)
	names := func(l *ifaceidx.Snapshot) (found []string) {
		for i := range uint32(8) {
			if name, ok := l.Name(i + 1); ok {
				found = append(found, name)
			} else if name != "" {
				found = append(found, "not "+name)
			}
		}
		if !l.Gone(2) || l.Gone(9) {
			t.Errorf("2 is gone: %v, 9: %v", l.Gone(2), l.Gone(9))
		}
		return found
	}
	want := []string{"if1", "not if3", "if4", "if5", "if6", "if7", "if8"}
	for what, l := range map[string]*ifaceidx.Snapshot{"1 2 3 4 all": x.Snapshot(t.Context()), "all": x.Snapshot(t.Context())} {
		vpp.about = nil
		if what == "all" {
			l.Everything()
			l.Everything()
		}
		if got := names(l); !slices.Equal(got, want) || l.Err() != nil {
			t.Errorf("names %q, want %q; %v", got, want, l.Err())
		}
		if got := fmt.Sprint(vpp.about); got != "["+what+"]" {
			t.Errorf("VPP was asked for %s, want %s", got, what)
		}
	}
	vpp.err = errors.New("no answer")
	for _, l := range []*ifaceidx.Snapshot{x.Snapshot(t.Context()), x.Snapshot(t.Context())} {
		l.Everything()
		if l.Gone(2) || !errors.Is(l.Err(), vpp.err) {
			t.Errorf("gone although VPP does not answer; %v", l.Err())
		}
	}
}

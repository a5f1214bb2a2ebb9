package descriptor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// VPP sets a sub-interface up only while its parent is up, and says why not in its
// log alone. So one that is enabled exists whatever the state of its parent, and is
// set up and down together with it.

// enabledSubs are the names of the sub-interfaces that are enabled, by the name of
// their parent. Which of them exist, VPP knows.
type enabledSubs struct {
	mu sync.Mutex
	of map[string]map[string]bool
}

// note remembers whether a sub-interface is enabled; other interfaces are none of
// its business.
func (e *enabledSubs) note(i *interfaces.Interface, enabled bool) {
	if i.GetType() != interfaces.Interface_SUB_INTERFACE {
		return
	}
	parent := i.GetSub().GetParentName()
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !enabled:
		delete(e.of[parent], i.GetName())
		if len(e.of[parent]) == 0 {
			delete(e.of, parent)
		}
	case e.of[parent] == nil:
		e.of[parent] = map[string]bool{i.GetName(): true}
	default:
		e.of[parent][i.GetName()] = true
	}
}

// under reports which enabled sub-interfaces a parent has; nil: none.
func (e *enabledSubs) under(parent string) func(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.of[parent]) == 0 {
		return nil
	}
	return func(name string) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.of[parent][name]
	}
}

// setAdminState sets an interface up or down, and its sub-interfaces with it: up
// after it, down before. A sub-interface whose parent is down stays down for now.
func (d *interfaceDescriptor) setAdminState(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	d.subs.note(i, i.GetEnabled()) // before: its parent may go up right now
	if !i.GetEnabled() {
		if err := d.setSubsOf(ctx, i.GetName(), m.SwIfIndex, false); err != nil {
			return err
		}
	}
	if err := d.vpp.SetAdminState(ctx, m.SwIfIndex, i.GetEnabled()); err != nil {
		if down, why := d.parentIsDown(ctx, i, m); !down {
			return fmt.Errorf("set administrative state: %w", errors.Join(err, why))
		}
	}
	if !i.GetEnabled() {
		return nil
	}
	return d.setSubsOf(ctx, i.GetName(), m.SwIfIndex, true)
}

// setSubsOf sets the enabled sub-interfaces of a parent up or down.
func (d *interfaceDescriptor) setSubsOf(ctx context.Context, parent string, swIfIndex uint32, up bool) error {
	enabled := d.subs.under(parent)
	if enabled == nil {
		return nil
	}
	all, err := d.vpp.DumpInterfaces(ctx)
	errs := []error{err}
	for _, s := range all {
		if !s.SubInterface || s.Parent != swIfIndex || s.AdminUp == up || !enabled(s.Tag) {
			continue
		}
		if err := d.vpp.SetAdminState(ctx, s.SwIfIndex, up); err != nil && !session.Gone(err) {
			errs = append(errs, fmt.Errorf("set administrative state of the sub-interface %q: %w", s.Tag, err))
		}
		d.changed(s.SwIfIndex)
	}
	return errors.Join(errs...)
}

// parentIsDown reports that an interface is a sub-interface under a parent that is
// down.
func (d *interfaceDescriptor) parentIsDown(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) (bool, error) {
	if i.GetType() != interfaces.Interface_SUB_INTERFACE {
		return false, nil
	}
	all, err := d.vpp.DumpInterfaces(ctx)
	for _, s := range all {
		if s.SwIfIndex == m.SwIfIndex {
			return isDown(all, s.Parent), nil
		}
	}
	return false, err
}

func isDown(all []vppcalls.Details, swIfIndex uint32) bool {
	for _, d := range all {
		if d.SwIfIndex == swIfIndex {
			return !d.AdminUp
		}
	}
	return false
}

// readSubState reports that a sub-interface is enabled that is down with its parent.
func (r *reading) readSubState(found vppcalls.Details, wanted, i *interfaces.Interface) {
	if !found.SubInterface || wanted == nil {
		return
	}
	if wanted.GetEnabled() && isDown(r.all, found.Parent) {
		i.Enabled = true
	}
	r.d.subs.note(i, wanted.GetEnabled()) // it may be from before a restart of the agent
}

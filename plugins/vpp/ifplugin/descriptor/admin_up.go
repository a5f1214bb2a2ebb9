package descriptor

import (
	"errors"
	"fmt"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// VPP sets a sub-interface up only while its parent is up, and says why not in its
// log alone. So a sub-interface exists whatever the state of its parent, and its
// own state is derived from it: it goes up after the parent and down before. That
// a parent is up is a property of the parent.

// adminUpCalls is what the state of sub-interfaces needs of VPP.
type adminUpCalls interface {
	SetAdminState(swIfIndex uint32, up bool) error
	DumpInterface(swIfIndex uint32) (*vppcalls.Details, error)
}

type adminUpDescriptor struct {
	vpp     adminUpCalls
	ifs     index
	changed func(swIfIndex uint32)
}

// NewSubInterfaceUp describes that a sub-interface is administratively up. changed
// is called with its index when it went up or down; it must not wait for the
// scheduler.
func NewSubInterfaceUp(vpp adminUpCalls, ifs index, changed func(swIfIndex uint32)) *kvs.KVDescriptor {
	d := &adminUpDescriptor{vpp, ifs, changed}
	return kvs.Adapt(&kvs.Descriptor[*interfaces.SubInterface, kvs.Metadata]{
		Name:        SubInterfaceUpName,
		Southbound:  Southbound,
		KeySelector: model.SubInterfaceUpKey.Matches,
		Dependencies: func(_ string, s *interfaces.SubInterface) []kvs.Dependency {
			return []kvs.Dependency{{Label: "parent-interface-is-enabled", Key: model.AdminUpKey.Key(s.GetParentName())}}
		},
		Create: d.create,
		Delete: d.remove,
	})
}

func (d *adminUpDescriptor) create(key string, s *interfaces.SubInterface) (kvs.Metadata, error) {
	idx, err := swIfIndex(d.ifs, ifaceOf(model.SubInterfaceUpKey.Parse(key)))
	if err != nil {
		return nil, err
	}
	if err := d.vpp.SetAdminState(idx, true); err != nil {
		return nil, fmt.Errorf("set administrative state: %w", d.whyNotUp(s.GetParentName(), err))
	}
	d.changed(idx)
	return nil, nil
}

// whyNotUp adds the reason to cause if it is that somebody else has set the parent
// down.
func (d *adminUpDescriptor) whyNotUp(parent string, cause error) error {
	idx, err := swIfIndex(d.ifs, parent)
	if err != nil {
		return errors.Join(cause, err)
	}
	found, err := d.vpp.DumpInterface(idx)
	if found != nil && !found.AdminUp {
		return fmt.Errorf("the parent %q is down in VPP: %w", parent, cause)
	}
	return errors.Join(cause, err)
}

func (d *adminUpDescriptor) remove(key string, _ *interfaces.SubInterface, _ kvs.Metadata) error {
	idx, err := swIfIndex(d.ifs, ifaceOf(model.SubInterfaceUpKey.Parse(key)))
	if err != nil {
		return err
	}
	if err := d.vpp.SetAdminState(idx, false); err != nil && !session.Gone(err) {
		return fmt.Errorf("set administrative state: %w", err)
	}
	d.changed(idx)
	return nil
}

// Package descriptor teaches the KV Scheduler how to handle hosts.
package descriptor

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/examples/tutorials/101_custom-agent/hosts/model"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	vppifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
)

// HostDescriptorName is the name of the descriptor.
const HostDescriptorName = "tutorial-host"

// File is the southbound: what this descriptor needs of a file of hosts.
type File interface {
	// Set adds a name, or changes its address.
	Set(name string, address netip.Addr, iface string) error
	// Remove removes a name; that it is not there is no error.
	Remove(name string) error
	// All returns everything that is in the file.
	All() ([]*model.Host, error)
}

type hostDescriptor struct{ file File }

// NewHostDescriptor returns the descriptor of the hosts in a file. Describe takes
// the fields about keys from the model; there is nothing to generate.
func NewHostDescriptor(file File) *api.KVDescriptor {
	d := &hostDescriptor{file}
	return api.Adapt(api.Describe(model.HostModel, api.Descriptor[*model.Host, api.Metadata]{
		Name:         HostDescriptorName,
		Validate:     d.validate,
		Dependencies: d.dependencies,
		Create:       d.create,
		Update:       d.update,
		Delete:       d.delete,
		Retrieve:     d.retrieve,
	}))
}

// validate refuses what the file could never have, with the field that is wrong.
func (d *hostDescriptor) validate(_ string, host *model.Host) error {
	if host.Name == "" || strings.ContainsAny(host.Name, " \t\n#") {
		return api.NewInvalidValueError(errors.New("expected a name without blanks"), "name")
	}
	if host.Address == "" { // another text that is no address does not reach the descriptor: see host.proto
		return api.NewInvalidValueError(errors.New("expected an IP address"), "address")
	}
	if host.Interface == "" || strings.ContainsAny(host.Interface, " \t\n#") {
		return api.NewInvalidValueError(errors.New("expected the name of an interface"), "interface")
	}
	return nil
}

// dependencies: a host waits for its interface, and goes before it. The key is
// all that is known of the other plugin.
func (d *hostDescriptor) dependencies(_ string, host *model.Host) []api.Dependency {
	return []api.Dependency{api.DependsOn(vppifmodel.InterfaceModel.KeyFor(host.Interface))}
}

func (d *hostDescriptor) create(_ string, host *model.Host) (api.Metadata, error) {
	return nil, d.set(host)
}

func (d *hostDescriptor) update(_ string, _, host *model.Host, _ api.Metadata) (api.Metadata, error) {
	return nil, d.set(host)
}

func (d *hostDescriptor) set(host *model.Host) error {
	address, err := netip.ParseAddr(host.Address)
	if err != nil {
		return err // validate has seen to it that there is none
	}
	return d.file.Set(host.Name, address, host.Interface)
}

func (d *hostDescriptor) delete(_ string, host *model.Host, _ api.Metadata) error {
	return d.file.Remove(host.Name)
}

// retrieve reads back what there is. This is how an agent that was restarted
// finds its work done, and how a resync finds changes of other programs.
func (d *hostDescriptor) retrieve([]api.KV[*model.Host, api.Metadata]) ([]api.KV[*model.Host, api.Metadata], error) {
	hosts, err := d.file.All()
	if err != nil {
		return nil, err
	}
	var found []api.KV[*model.Host, api.Metadata]
	for _, host := range hosts {
		found = append(found, api.KV[*model.Host, api.Metadata]{
			Key: model.HostModel.Key(host), Value: host,
			Origin: api.FromNB, // no other program writes to this file
		})
	}
	return found, nil
}

package descriptor

import (
	"context"
	"errors"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// linkTable is a kind of interface that VPP makes from parameters and then tells of with
// them; none of them can be changed. P holds the parameters in the words of VPP, with
// nothing in it that the configuration does not determine.
type linkTable[P comparable] struct {
	kindDefaults
	linkSpec[P]
	on southbound
}

// southbound is what tables of links work with.
type southbound struct {
	*session.VPP
	calls *vppcalls.Calls
	ifs   index
}

// linkSpec is what distinguishes one table of links from the others. The functions are
// pure, except the dump of op.
type linkSpec[P comparable] struct {
	op     *session.Operation[linkCalls[P]]
	facts  traits
	device string // the device class
	valid  func(i *interfaces.Interface) []error
	needs  func(i *interfaces.Interface) []kvs.Dependency // nil: nothing
	// group is the interface of the multicast group, which params gets the index of; nil:
	// there are no groups.
	group func(i *interfaces.Interface) string
	// params are the parameters that a configuration asks for.
	params func(i *interfaces.Interface, group ifIndex) (P, error)
	// describe fills in the type and the link of i, and what else p determines. wanted is
	// the value expected under this name, or nil.
	describe func(i *interfaces.Interface, p P, wanted *interfaces.Interface, names func(ifIndex) string)
	// delete makes the request that deletes an interface; nil: it is deleted by its
	// parameters. gone are return values for an interface that does not exist.
	delete func(ifIndex) (req, reply api.Message)
	gone   []api.VPPApiError
	// exists is VPP's answer if it has the interface already: one that taken finds, and
	// that is the wanted one if same says so (nil: if taken does). fields are those that
	// taken compares.
	exists      api.VPPApiError
	taken, same func(found, wanted P) bool
	fields      func(i *interfaces.Interface) []field
}

// linkCalls are the requests for a table of links.
type linkCalls[P any] struct {
	// set makes the request that creates an interface, or deletes it, and tells where the
	// index is in the reply. The messages are of the same types for all parameters.
	set  func(add bool, p P) (req, reply api.Message, swIfIndex *ifIndex)
	dump linkDump[P]
}

// linkDump returns one interface of a table, or all for noInterface.
type linkDump[P any] struct {
	needs []api.Message
	read  func(ctx context.Context, vpp *session.VPP, which ifIndex) (map[ifIndex]P, error)
}

// declareLinks declares how VPP handles a table of links, like session.Declare. The messages
// that a variant needs are those that it sends.
func declareLinks[P any](item, plugin string, variants ...linkCalls[P]) *session.Operation[linkCalls[P]] {
	all := make([]binding.Variant[linkCalls[P]], len(variants))
	for n, v := range variants {
		var zero P
		req, reply, _ := v.set(true, zero)
		all[n] = session.Variant(v, append([]api.Message{req, reply}, v.dump.needs...)...)
	}
	return session.Declare(&vppcalls.Operations, item, plugin, all...)
}

type ifIndex = interface_types.InterfaceIndex

const (
	noInterface = ifIndex(vppcalls.NoInterface)
	// anyInstance and anyNext leave the choice to VPP.
	anyInstance = ^uint32(0)
	anyNext     = ^uint32(0)
)

// dumpOf makes a dump of its request, and of what a record tells: the index and the
// parameters, or noInterface if it is no interface.
func dumpOf[D api.Message, P any](request func(which ifIndex) api.Message, of func(D) (ifIndex, P)) linkDump[P] {
	var details D
	return linkDump[P]{
		needs: []api.Message{request(noInterface), details},
		read: func(ctx context.Context, vpp *session.VPP, which ifIndex) (map[ifIndex]P, error) {
			found, err := session.Dump[D](ctx, vpp, request(which))
			out := make(map[ifIndex]P, len(found))
			for _, d := range found {
				if idx, p := of(d); idx != noInterface {
					out[idx] = p
				}
			}
			return out, err
		},
	}
}

// with returns the kind of links.
func (s linkSpec[P]) with(on southbound) linkTable[P] { return linkTable[P]{linkSpec: s, on: on} }

func (k linkTable[P]) traits() traits { return k.facts }

func (k linkTable[P]) check(i *interfaces.Interface) error { return errors.Join(k.valid(i)...) }

func (k linkTable[P]) dependencies(i *interfaces.Interface) []kvs.Dependency {
	if k.needs == nil {
		return nil
	}
	return k.needs(i)
}

func (k linkTable[P]) sameLink(a, b *interfaces.Interface) bool {
	if k.group != nil && k.group(a) != k.group(b) {
		return false
	}
	x, errX := k.params(a, noInterface)
	y, errY := k.params(b, noInterface)
	if errX != nil || errY != nil {
		return proto.Equal(linkOf(a), linkOf(b))
	}
	return x == y
}

func (k linkTable[P]) wanted(i *interfaces.Interface) (P, error) {
	group := noInterface
	if k.group != nil && k.group(i) != "" {
		idx, err := swIfIndex(k.on.ifs, k.group(i))
		if err != nil {
			var none P
			return none, err
		}
		group = ifIndex(idx)
	}
	return k.params(i, group)
}

func (k linkTable[P]) create(ctx context.Context, i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	wanted, err := k.wanted(i)
	if err != nil {
		return nil, err
	}
	idx, err := k.set(ctx, true, wanted)
	if k.taken != nil && errors.Is(err, k.exists) {
		idx, err = k.adopt(ctx, wanted, err)
		err = conflict(err, k.fields(i)...)
	}
	return &ifaceidx.IfMeta{SwIfIndex: uint32(idx)}, err
}

// set creates an interface, or deletes it.
func (k linkTable[P]) set(ctx context.Context, add bool, p P) (ifIndex, error) {
	calls, err := k.op.On(k.on.VPP)
	if err != nil {
		return noInterface, err
	}
	req, reply, swIfIndex := calls.set(add, p)
	err = k.on.Call(ctx, req, reply)
	return *swIfIndex, err
}

func (k linkTable[P]) dump(ctx context.Context, which ifIndex) (map[ifIndex]P, error) {
	calls, err := k.op.On(k.on.VPP)
	if err != nil {
		return nil, err
	}
	return calls.dump.read(ctx, k.on.VPP, which)
}

// adopt takes over the interface that VPP has in place of the wanted one, if that was left
// over.
func (k linkTable[P]) adopt(ctx context.Context, wanted P, cause error) (ifIndex, error) {
	all, err := k.dump(ctx, noInterface)
	if err != nil {
		return noInterface, errors.Join(cause, err)
	}
	for idx, found := range all {
		if k.taken(found, wanted) {
			same := k.same == nil || k.same(found, wanted)
			adopted, err := adoptUntagged(ctx, k.on.calls, uint32(idx), same, cause)
			return ifIndex(adopted), err
		}
	}
	return noInterface, cause
}

func (k linkTable[P]) remove(ctx context.Context, _ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	idx := ifIndex(m.SwIfIndex)
	if k.delete != nil {
		req, reply := k.delete(idx)
		if err := k.on.Call(ctx, req, reply); err != nil && !session.Gone(err, k.gone...) {
			return err
		}
		return nil
	}
	all, err := k.dump(ctx, idx)
	if p, ok := all[idx]; ok && err == nil {
		_, err = k.set(ctx, false, p)
	}
	if errors.Is(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return err
}

func (k linkTable[P]) claims(d vppcalls.Details) bool {
	return !d.SubInterface && d.DevType == k.device
}

func (k linkTable[P]) read(ctx context.Context, names func(uint32) string) (recogniser, error) {
	all, err := k.dump(ctx, noInterface)
	return func(d vppcalls.Details, wanted, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		p, ok := all[ifIndex(d.SwIfIndex)]
		if ok {
			k.describe(i, p, wanted, func(idx ifIndex) string {
				if idx == noInterface {
					return ""
				}
				return names(uint32(idx))
			})
		}
		return ok
	}, err
}

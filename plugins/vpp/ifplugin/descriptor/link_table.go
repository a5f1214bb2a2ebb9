package descriptor

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// linkTable is a kind of interface that VPP makes from parameters and then reports with
// them; none of them can be changed. P holds the parameters in the words of VPP.
type linkTable[P comparable] struct {
	kindDefaults
	linkSpec[P]
	resolution *item.Resolution[*interfaces.Interface, P]
	on         southbound
}

// southbound is what tables of links work with.
type southbound struct {
	*session.VPP
	calls *vppcalls.Calls
	ifs   index
	seed  string // of identities that follow from names
}

// linkSpec is what distinguishes one table of links from the others. The functions are
// pure, except the dump of op.
type linkSpec[P comparable] struct {
	op     *session.Operation[linkCalls[P]]
	facts  traits
	device string // the device class
	// prefixes begin the names that VPP gives to interfaces of a device class that other kinds
	// have as well; nil: the device class distinguishes them.
	prefixes []string
	// resolve translates a configuration into parameters; the validation, the dependencies
	// and the comparison follow from it.
	resolve func(r *item.Resolver, i *interfaces.Interface) P
	// describe fills in the type and the link of i, and what else p determines.
	describe func(i *interfaces.Interface, p P, known about)
	// chosen copies into p, the parameters of a value, what VPP chooses or does not list, from
	// found, the parameters of the interface that the value was made of. Where the two differ then,
	// the model has no field for what VPP has. nil: VPP lists nothing.
	chosen func(p *P, found P)
	// mac puts the MAC address of the configuration into the request that creates an interface;
	// nil: it is set after that. meta fills in what p says of the metadata. Both are optional.
	mac  func(p *P, mac vppcalls.MAC)
	meta func(m *ifaceidx.IfMeta, p P)
	// delete makes the request that deletes an interface; nil: it is deleted by its
	// parameters. gone are return values for an interface that does not exist.
	delete func(ifIndex) (req, reply api.Message)
	gone   []api.VPPApiError
	// exists is VPP's answer if it has an interface with the same key already. key are the
	// paths of fields; taken reports that found is the one, by default by the key.
	exists api.VPPApiError
	key    []string
	taken  func(found, wanted P) bool
	// identity is what VPP has once; nil: the fields of key.
	identity func(i *interfaces.Interface) string
	// names are those that VPP may give to the interface of a value, if they distinguish it from all
	// others; nil: its instances or parameters do.
	names     func(seed string, want *interfaces.Interface) []string
	instances instances[P]
	// explain says what VPP means by its answer to the creation of i; nil: what the error says.
	explain func(i *interfaces.Interface, created ifIndex, err error) error
}

// instances are the numbers in the names of interfaces, where the agent chooses them.
type instances[P any] struct {
	prefix       string // of the names; "": VPP chooses the numbers
	first, count uint32
	set          func(p *P, instance uint32)
	inUse        api.VPPApiError // VPP's answer if it has an interface with the number
}

// of returns what the interface of a name may be, the preferred number first.
func (n instances[P]) of(seed, name string) (all [8]uint32) {
	sum := sha256.Sum256([]byte(seed + "\x00" + n.prefix + "\x00" + name))
	for i := range all {
		all[i] = n.first + binary.BigEndian.Uint32(sum[4*i:])%n.count
	}
	return all
}

// about is what is known of an interface besides its parameters.
type about struct {
	name   string                // what VPP calls it
	wanted *interfaces.Interface // the value that is expected under the name of its tag, or nil
	names  func(ifIndex) string  // the names of other interfaces
}

// linkCalls are the requests for a table of links.
type linkCalls[P any] struct {
	// set makes the request that creates an interface, or deletes it. The messages are of the
	// same types for all parameters.
	set  func(add bool, p P) (req, reply api.Message)
	dump linkDump[P]
}

// linkDump returns one interface of a table, or all for noInterface. Without read VPP does not
// report parameters.
type linkDump[P any] struct {
	needs []api.Message
	read  func(ctx context.Context, vpp *session.VPP, which ifIndex) (map[uint32]P, error)
}

// declareLinks declares how VPP handles a table of links, like session.Declare. The messages
// that a variant needs are those that it sends.
func declareLinks[P any](item, plugin string, variants ...linkCalls[P]) *session.Operation[linkCalls[P]] {
	all := make([]binding.Variant[linkCalls[P]], len(variants))
	for n, v := range variants {
		var zero P
		req, reply := v.set(true, zero)
		all[n] = session.Variant(v, append([]api.Message{req, reply}, v.dump.needs...)...)
	}
	return session.Declare(item, plugin, all...)
}

type ifIndex = interface_types.InterfaceIndex

const (
	noInterface = ifIndex(vppcalls.NoInterface)
	// anyInstance and anyNext leave the choice to VPP.
	anyInstance = ^uint32(0)
	anyNext     = ^uint32(0)
)

// dumpOf makes a dump whose request R has the index of an interface, and no other field. of
// reports the index and the parameters in a record, or noInterface if it is no interface.
func dumpOf[R, D api.Message, P any](of func(D) (ifIndex, P)) linkDump[P] {
	return dumpWith(func(which ifIndex) api.Message { return aboutInterface[R](which) }, of)
}

// dumpSame is dumpOf for records that have the fields of the parameters.
func dumpSame[R, D api.Message, P any]() linkDump[P] {
	return dumpOf[R](func(d D) (ifIndex, P) { return session.InterfaceIndex(d), session.SameFields[P](d) })
}

// dumpWith is dumpOf for requests with other fields.
func dumpWith[D api.Message, P any](request func(which ifIndex) api.Message, of func(D) (ifIndex, P)) linkDump[P] {
	var details D
	return linkDump[P]{
		needs: []api.Message{request(noInterface), details},
		read: func(ctx context.Context, vpp *session.VPP, which ifIndex) (map[uint32]P, error) {
			found, err := session.Dump[D](ctx, vpp, request(which))
			out := make(map[uint32]P, len(found))
			for _, d := range found {
				if idx, p := of(d); idx != noInterface {
					out[uint32(idx)] = p
				}
			}
			return out, err
		},
	}
}

// asRequest is a linkCalls.set whose parameters are the request, and A is the reply. If the
// request has a field IsAdd, it also deletes.
func asRequest[A api.Message, P any](add bool, p P) (req, reply api.Message) {
	if f := reflect.ValueOf(&p).Elem().FieldByName("IsAdd"); f.IsValid() {
		f.SetBool(add)
	}
	return any(&p).(api.Message), empty[A]()
}

// deletion is a linkSpec.delete with the request R, which has the index of an interface and no
// other field, and the reply A.
func deletion[R, A api.Message](which ifIndex) (req, reply api.Message) {
	return aboutInterface[R](which), empty[A]()
}

// empty makes a message M, which is a pointer.
func empty[M api.Message]() M { return reflect.New(reflect.TypeFor[M]().Elem()).Interface().(M) }

// aboutInterface makes a message M with the index of an interface.
func aboutInterface[M api.Message](which ifIndex) api.Message {
	m := empty[M]()
	reflect.ValueOf(m).Elem().FieldByName("SwIfIndex").Set(reflect.ValueOf(which))
	return m
}

// with returns the kind of links.
func (s linkSpec[P]) with(on southbound) linkTable[P] {
	return linkTable[P]{
		linkSpec: s, on: on, resolution: &item.Resolution[*interfaces.Interface, P]{Interfaces: on.ifs, Resolve: s.resolve},
	}
}

func (k linkTable[P]) traits() traits { return k.facts }

func (k linkTable[P]) check(i *interfaces.Interface) error { return k.resolution.Validate("", i) }

func (k linkTable[P]) dependencies(i *interfaces.Interface) []kvs.Dependency {
	return k.resolution.Dependencies("", i)
}

func (k linkTable[P]) identities(i *interfaces.Interface) []string {
	switch {
	case k.identity != nil:
		return []string{k.identity(i)}
	case len(k.key) == 0:
		return nil
	}
	return []string{identity(k.device, fieldsAt(i, k.key)...)}
}

// identity names what VPP has once: an interface of a kind with some fields.
func identity(kind string, fields ...field) string {
	var text strings.Builder
	text.WriteString(kind)
	for _, f := range fields {
		fmt.Fprintf(&text, "/%v", f.value)
	}
	return text.String()
}

func (k linkTable[P]) sameLink(a, b *interfaces.Interface) bool {
	x, y, ok := k.resolution.Both(a, b)
	if !ok {
		return proto.Equal(linkOf(a), linkOf(b))
	}
	return x == y
}

// created implements creationMark.
func (k linkTable[P]) created(found vppcalls.Details, i, want *interfaces.Interface) bool {
	named := k.names == nil || slices.Contains(k.names(k.on.seed, want), found.Name)
	if n := k.instances; n.prefix != "" {
		all := n.of(k.on.seed, want.GetName())
		named = slices.ContainsFunc(all[:], func(number uint32) bool { return found.Name == fmt.Sprint(n.prefix, number) })
	}
	return named && k.sameLink(i, want)
}

func (k linkTable[P]) create(ctx context.Context, i *interfaces.Interface, mac *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	wanted, err := k.resolution.Live(i)
	if err != nil {
		return nil, err
	}
	with := wanted
	if mac != nil && k.mac != nil {
		k.mac(&with, *mac)
	}
	idx, err := k.add(ctx, i.GetName(), with)
	if len(k.key) > 0 && errors.Is(err, k.exists) {
		idx, err = k.adopt(ctx, i, wanted, err)
	}
	if k.explain != nil {
		err = k.explain(i, idx, err)
	}
	m := &ifaceidx.IfMeta{SwIfIndex: uint32(idx)}
	if k.meta != nil {
		k.meta(m, wanted)
	}
	return m, err
}

// add creates the interface of a name, with the first of its instances that is free.
func (k linkTable[P]) add(ctx context.Context, name string, p P) (idx ifIndex, err error) {
	if k.instances.prefix == "" {
		return k.set(ctx, true, p)
	}
	for _, instance := range k.instances.of(k.on.seed, name) {
		k.instances.set(&p, instance)
		if idx, err = k.set(ctx, true, p); !errors.Is(err, k.instances.inUse) {
			return idx, err
		}
	}
	return idx, fmt.Errorf("all instances that the name may have are in use: %w", err)
}

// set creates an interface, or deletes it.
func (k linkTable[P]) set(ctx context.Context, add bool, p P) (ifIndex, error) {
	calls, err := k.op.On(k.on.VPP)
	if err != nil {
		return noInterface, err
	}
	req, reply := calls.set(add, p)
	err = k.on.Call(ctx, req, reply)
	return session.InterfaceIndex(reply), err
}

func (k linkTable[P]) dump(ctx context.Context, which ifIndex) (map[uint32]P, error) {
	calls, err := k.op.On(k.on.VPP)
	if err != nil || calls.dump.read == nil {
		return nil, err
	}
	return calls.dump.read(ctx, k.on.VPP, which)
}

// adopt takes over the interface that VPP has in place of the wanted one, if that was left
// over.
func (k linkTable[P]) adopt(ctx context.Context, i *interfaces.Interface, wanted P, cause error) (ifIndex, error) {
	as := func(p P) *interfaces.Interface {
		out := &interfaces.Interface{Name: i.GetName()}
		k.describe(out, p, about{wanted: i, names: func(idx ifIndex) string { return fmt.Sprint(idx) }})
		return out
	}
	marked := func(p P) *interfaces.Interface {
		out := as(p)
		k.mark(out, nil, p)
		return out
	}
	want := as(wanted)
	key := fieldsAt(want, k.key)
	all := func(ctx context.Context) (map[uint32]P, error) { return k.dump(ctx, noInterface) }
	taken := func(found P) bool {
		if k.taken != nil {
			return k.taken(found, wanted)
		}
		return slices.Equal(fieldsAt(as(found), k.key), key)
	}
	idx, err := adoptAmong(ctx, k.on.calls, all, taken, func(found P) bool { return proto.Equal(marked(found), want) }, cause)
	return ifIndex(idx), conflict(err, key...)
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
	if p, ok := all[m.SwIfIndex]; ok && err == nil {
		_, err = k.set(ctx, false, p)
	}
	if errors.Is(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return err
}

// mark adds the settings of p that the model lacks to i, which was made of p. A p with the parameters
// of wanted has none.
func (k linkTable[P]) mark(i, wanted *interfaces.Interface, p P) {
	if k.chosen == nil {
		return
	}
	if wanted.GetType() == i.GetType() && isGpe(wanted) == isGpe(i) {
		if modeled, err := k.resolution.Live(wanted); err == nil {
			if k.chosen(&modeled, p); modeled == p {
				return
			}
		}
	}
	if modeled, _, valid := k.resolution.Both(i, i); valid {
		k.chosen(&modeled, p)
		kvs.AddUnmodeled(i, item.Unmodeled(p, modeled)...)
	}
}

func (k linkTable[P]) claims(d vppcalls.Details) bool {
	if d.SubInterface {
		return false
	}
	if k.prefixes == nil {
		return d.DevType == k.device
	}
	return slices.ContainsFunc(k.prefixes, func(prefix string) bool { return strings.HasPrefix(d.Name, prefix) })
}

func (k linkTable[P]) read(ctx context.Context, names func(uint32) string) (recogniser, error) {
	calls, err := k.op.On(k.on.VPP)
	if err != nil {
		return nil, err
	}
	all, err := k.dump(ctx, noInterface)
	return func(d vppcalls.Details, wanted, i *interfaces.Interface, m *ifaceidx.IfMeta) bool {
		p, ok := all[d.SwIfIndex]
		if ok = ok || calls.dump.read == nil; ok {
			k.describe(i, p, about{d.Name, wanted, func(idx ifIndex) string {
				if idx == noInterface {
					return ""
				}
				name := names(uint32(idx))
				if name == "" && idx != 0 {
					kvs.AddUnmodeled(i, fmt.Sprintf("interface %d, which has no tag", idx))
				}
				return name
			}})
			k.mark(i, wanted, p)
			if d.MAC == (vppcalls.MAC{}) && model.WithoutMAC(i) == "" {
				kvs.AddUnmodeled(i, "is_l3 true")
			}
			if k.meta != nil {
				k.meta(m, p)
			}
		}
		return ok
	}, err
}

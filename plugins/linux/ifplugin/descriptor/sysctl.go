package descriptor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A kernel parameter, an offload or a number of queues of an interface is a value derived from it. The
// kernel reports neither who set a parameter nor its former value: the agent remembers that, see
// Former.

// SysctlName is the name of the descriptor of kernel parameters.
const SysctlName = "linux-interface-sysctl"

const disableIPv6 = "ipv6.disable_ipv6"

type sysctl struct{ Deps }

// NewSysctl returns the descriptor linux-interface-sysctl.
func NewSysctl(deps Deps) *api.KVDescriptor {
	d := sysctl{deps}
	return api.Adapt(&api.Descriptor[*interfaces.Interface, any]{
		Name:       SysctlName,
		Southbound: nsmodel.Southbound,
		KeySelector: func(key string) bool {
			_, ok := ifmodel.SysctlKey.Parse(key)
			return ok
		},
		ValueComparator: func(_ string, a, b *interfaces.Interface) bool {
			return a.GetName() == b.GetName() && parameter(a).GetName() == parameter(b).GetName() && parameter(a).GetValue() == parameter(b).GetValue()
		},
		CreateContext:        d.create,
		UpdateContext:        d.update,
		DeleteContext:        d.delete,
		RetrieveValueContext: d.retrieveValue,
	})
}

// parameter is the one that a derived value has.
func parameter(v *interfaces.Interface) *interfaces.Sysctl {
	if len(v.GetSysctls()) == 0 {
		return nil
	}
	return v.GetSysctls()[0]
}

// parameters returns the kernel parameters of an interface, and its offloads and queues as such.
func parameters(v *interfaces.Interface) []*interfaces.Sysctl {
	all := slices.Clip(v.GetSysctls())
	for _, o := range v.GetOffloads() {
		p := &interfaces.Sysctl{Name: netlinkapi.OffloadParameter(o.GetName())}
		if o.GetEnabled() {
			p.Value = 1
		}
		all = append(all, p)
	}
	for name, number := range queuesOf(v) {
		if *number != 0 {
			all = append(all, &interfaces.Sysctl{Name: name, Value: int32(*number)})
		}
	}
	for name, setting := range checksumsOf(v) {
		switch *setting {
		case interfaces.VethLink_CHKSM_OFFLOAD_ENABLED:
			all = append(all, &interfaces.Sysctl{Name: name, Value: 1})
		case interfaces.VethLink_CHKSM_OFFLOAD_DISABLED:
			all = append(all, &interfaces.Sysctl{Name: name})
		}
	}
	return all
}

// checksumsOf returns the checksum offloading of a VETH, with the names of the parameters.
func checksumsOf(v *interfaces.Interface) iter.Seq2[string, *interfaces.VethLink_ChecksumOffloading] {
	return func(yield func(string, *interfaces.VethLink_ChecksumOffloading) bool) {
		veth := v.GetVeth()
		_ = veth == nil || yield(netlinkapi.OffloadParameter(netlinkapi.OffloadRXChecksum), &veth.RxChecksumOffloading) &&
			yield(netlinkapi.OffloadParameter(netlinkapi.OffloadTXChecksum), &veth.TxChecksumOffloading)
	}
}

// queuesOf returns the numbers of queues of an interface, with the names of their parameters.
func queuesOf(v *interfaces.Interface) iter.Seq2[string, *uint32] {
	return func(yield func(string, *uint32) bool) {
		q := v.GetQueues()
		_ = q == nil || yield(netlinkapi.QueuesRX, &q.Rx) && yield(netlinkapi.QueuesTX, &q.Tx) && yield(netlinkapi.QueuesCombined, &q.Combined)
	}
}

// checkOffloads checks the offloads of an interface.
func checkOffloads(v *interfaces.Interface) error {
	var errs []error
	seen := map[string]bool{}
	for i, o := range v.GetOffloads() {
		field, name := fmt.Sprintf("offloads[%d].name", i), o.GetName()
		switch {
		case !slices.Contains(netlinkapi.OffloadNames(), name):
			errs = append(errs, invalid(field, "%q; expected one of %q", name, netlinkapi.OffloadNames()))
		case seen[name]:
			errs = append(errs, invalid(field, "%q again; expected each offload once", name))
		case v.GetType() == interfaces.Interface_VETH && (name == netlinkapi.OffloadRXChecksum || name == netlinkapi.OffloadTXChecksum):
			errs = append(errs, invalid(field, "%q; expected rx_checksum_offloading and tx_checksum_offloading of veth instead", name))
		}
		seen[name] = true
		if off := offloadOff(v, netlinkapi.OffloadNeeds(name)); o.GetEnabled() && off != "" {
			errs = append(errs, invalid(fmt.Sprintf("offloads[%d].enabled", i), "true for %q; expected false, because it needs %s, which is off", name, off))
		}
	}
	return errors.Join(errs...)
}

// offloadOff follows an offload to the offloads that it needs, and returns the first that the interface turns
// off; empty if it turns none off.
func offloadOff(v *interfaces.Interface, offload string) string {
	for ; offload != ""; offload = netlinkapi.OffloadNeeds(offload) {
		for _, p := range parameters(v) {
			if p.GetName() == netlinkapi.OffloadParameter(offload) && p.GetValue() == 0 {
				return offload
			}
		}
	}
	return ""
}

// checkSysctls checks the parameters of an interface.
func checkSysctls(v *interfaces.Interface) error {
	var errs []error
	seen := map[string]bool{}
	for i, s := range v.GetSysctls() {
		field := fmt.Sprintf("sysctls[%d]", i)
		lowest, highest, known := netlinkapi.SysctlRange(s.GetName())
		known = known && slices.Contains(netlinkapi.SysctlNames(), s.GetName())
		switch value := int(s.GetValue()); {
		case !known:
			errs = append(errs, invalid(field+".name", "%q; expected one of %q", s.GetName(), netlinkapi.SysctlNames()))
		case seen[s.GetName()]:
			errs = append(errs, invalid(field+".name", "%q again; expected each parameter once", s.GetName()))
		case value < lowest || value > highest:
			errs = append(errs, invalid(field+".value", "%d; expected %d to %d for %s", value, lowest, highest, s.GetName()))
		case s.GetName() == disableIPv6 && value != 0 && slices.ContainsFunc(v.GetIpAddresses(), isIPv6):
			errs = append(errs, invalid(field+".value", "%d; expected 0, because ip_addresses has an IPv6 address", value))
		}
		seen[s.GetName()] = true
	}
	return errors.Join(errs...)
}

// isIPv6 reports whether the text is an IPv6 address; of a reference that is not known.
func isIPv6(text string) bool {
	p, err := netallocmodel.ParseAddress(text)
	return err == nil && p.Addr().Is6()
}

func (d sysctl) create(ctx context.Context, key string, v *interfaces.Interface) (any, error) {
	p, now, err := d.read(ctx, v)
	if err != nil {
		return nil, explain(err)
	}
	defer closeHandle(p)
	want := parameter(v)
	d.Former.remember(key, linkID{p.Namespace(), p.Link.Index}, want.GetName(), now, int(want.GetValue()))
	return nil, explain(d.set(ctx, p, v, now))
}

// update sets a parameter that has been set, or one that the kernel has and that was not desired.
func (d sysctl) update(ctx context.Context, key string, _, v *interfaces.Interface, _ any) (any, error) {
	p, now, err := d.read(ctx, v)
	if err != nil {
		return nil, explain(err)
	}
	defer closeHandle(p)
	link, want := linkID{p.Namespace(), p.Link.Index}, parameter(v)
	if _, known := d.Former.of(key, link); !known {
		d.Former.remember(key, link, want.GetName(), now, int(want.GetValue()))
	}
	return nil, explain(d.set(ctx, p, v, now))
}

// set gives the parameter the value.
func (d sysctl) set(ctx context.Context, p *ifaceidx.Place, v *interfaces.Interface, now int) error {
	want := parameter(v)
	if now == int(want.GetValue()) {
		return nil
	}
	return p.SetSysctl(ctx, p.Link.Name, want.GetName(), int(want.GetValue()))
}

// read returns the link and what the parameter is now.
func (d sysctl) read(ctx context.Context, v *interfaces.Interface) (*ifaceidx.Place, int, error) {
	p, err := ifaceidx.Find(ctx, d.Index, d.Namespaces, v.GetName())
	if err != nil {
		return nil, 0, err
	}
	name := parameter(v).GetName()
	values, err := p.Sysctls(ctx, p.Link.Name, []string{name})
	now, there := values[name]
	if err == nil && !there {
		err = fmt.Errorf("interface %q (link %q) has no parameter %s: %w", v.GetName(), p.Link.Name, name, netlinkapi.ErrUnsupported)
	}
	if err != nil {
		closeHandle(p)
		return nil, 0, err
	}
	return p, now, nil
}

func (d sysctl) delete(ctx context.Context, key string, v *interfaces.Interface, _ any) error {
	p, now, err := d.read(ctx, v)
	if netlinkapi.IsGone(err) || errors.Is(err, netlinkapi.ErrUnsupported) {
		d.Former.forget(key)
		return nil
	}
	if err != nil {
		return err
	}
	defer closeHandle(p)
	former, known := d.Former.of(key, linkID{p.Namespace(), p.Link.Index})
	if known && former != now {
		if err := p.SetSysctl(ctx, p.Link.Name, parameter(v).GetName(), former); ignoreGone(err) != nil {
			return err
		}
	}
	d.Former.forget(key)
	return nil
}

func (d sysctl) retrieveValue(ctx context.Context, _ string, last *interfaces.Interface, _ any) (*interfaces.Interface, any, bool, error) {
	p, now, err := d.read(ctx, last)
	if netlinkapi.IsGone(err) || errors.Is(err, netlinkapi.ErrUnsupported) {
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, false, err
	}
	closeHandle(p)
	return &interfaces.Interface{
		Name: last.GetName(), Sysctls: []*interfaces.Sysctl{{Name: parameter(last).GetName(), Value: int32(now)}},
	}, nil, true, nil
}

// readSysctls reads the parameters of a namespace that are wanted, or that the agent set in
// this or an earlier process.
func (r *retrieval) readSysctls(ctx context.Context, h netlinkapi.Handle, s *space) error {
	for _, l := range s.links {
		names := r.Former.names(linkID{s.id, l.Index})
		if want := r.wantedFor(s, l); want != nil {
			for _, one := range parameters(want) {
				names = append(names, one.GetName())
			}
		}
		if len(names) == 0 {
			continue
		}
		values, err := h.Sysctls(ctx, l.Name, names)
		if ignoreGone(err) != nil {
			return err
		}
		s.sysctls[l.Index] = values
	}
	return nil
}

// wantedFor returns the wanted value that the link may be of; nil if there is none.
func (r *retrieval) wantedFor(s *space, l netlinkapi.Link) *interfaces.Interface {
	if name, _, ours := r.parse(l.Alias); ours {
		return r.wanted[name]
	}
	for _, want := range r.wanted {
		if s.own && want.GetType() == interfaces.Interface_EXISTING && hostName(want) == l.Name {
			return want
		}
	}
	return nil
}

// addSysctls fills in the parameters of a link.
func (s *space) addSysctls(l netlinkapi.Link, v *interfaces.Interface) {
	for _, name := range slices.Sorted(maps.Keys(s.sysctls[l.Index])) {
		value := s.sysctls[l.Index][name]
		if addChecksum(v, name, value != 0) {
			continue
		}
		if offload, ok := netlinkapi.OffloadOf(name); ok {
			v.Offloads = append(v.Offloads, &interfaces.Offload{Name: offload, Enabled: value != 0})
			continue
		}
		if slices.Contains(netlinkapi.QueueParameters(), name) {
			addQueues(v, name, value)
			continue
		}
		v.Sysctls = append(v.Sysctls, &interfaces.Sysctl{Name: name, Value: int32(value)})
	}
}

// addChecksum fills in checksum offloading of a VETH; false if the parameter is another one.
func addChecksum(v *interfaces.Interface, name string, on bool) (added bool) {
	for known, setting := range checksumsOf(v) {
		if known != name {
			continue
		}
		added, *setting = true, interfaces.VethLink_CHKSM_OFFLOAD_DISABLED
		if on {
			*setting = interfaces.VethLink_CHKSM_OFFLOAD_ENABLED
		}
	}
	return added
}

// addQueues fills in a number of queues of a link.
func addQueues(v *interfaces.Interface, name string, value int) {
	if v.Queues == nil {
		v.Queues = &interfaces.Queues{}
	}
	for known, number := range queuesOf(v) {
		if known == name {
			*number = uint32(value)
		}
	}
}

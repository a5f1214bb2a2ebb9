//lint:file-ignore SA1019 the deprecated field is part of the wire schema, and has to be refused

package ipsecplugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.fd.io/govpp/api"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipsecplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

// A policy database has nothing but its number; policies and interfaces are values of their
// own. The interfaces are derived from it.
//
// It is no item.Entry, which reads no derived values with its values.

var spdOperation = session.Require("IPsec SPD", "",
	(*ipsecapi.IpsecSpdAddDel)(nil), (*ipsecapi.IpsecSpdAddDelReply)(nil),
	(*ipsecapi.IpsecSpdsDump)(nil), (*ipsecapi.IpsecSpdsDetails)(nil))

type spdDescriptor struct {
	vpp *session.VPP
	ifs item.Interfaces
}

type spdKV = kvs.KV[*ipsec.SecurityPolicyDatabase, kvs.Metadata]

// NewSPD describes security policy databases.
func NewSPD(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &spdDescriptor{vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.SPDModel, kvs.Descriptor[*ipsec.SecurityPolicyDatabase, kvs.Metadata]{
		Name:          SPDName,
		Southbound:    item.Southbound,
		Validate:      validateSPD,
		DerivedValues: spdInterfaces,
		// The number is in the key.
		ValueComparator: func(string, *ipsec.SecurityPolicyDatabase, *ipsec.SecurityPolicyDatabase) bool { return true },
		CreateContext: func(ctx context.Context, _ string, v *ipsec.SecurityPolicyDatabase) (kvs.Metadata, error) {
			err := d.change(ctx, v, true)
			if errors.Is(err, api.ENTRY_ALREADY_EXISTS) {
				err = fmt.Errorf("index: VPP has another database with the number %d: %w", v.GetIndex(), err)
			}
			return nil, err
		},
		DeleteContext: func(ctx context.Context, _ string, v *ipsec.SecurityPolicyDatabase, _ kvs.Metadata) error {
			err := d.change(ctx, v, false)
			if session.Gone(err, api.NO_SUCH_ENTRY) {
				return nil
			}
			return err
		},
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName},
		ConcurrentRetrieve:   true,
	}))
}

func validateSPD(_ string, v *ipsec.SecurityPolicyDatabase) error {
	var errs []error
	if len(v.GetPolicyEntries()) > 0 {
		errs = append(errs, item.Invalid("policy_entries", "policies are items of their own, vpp.ipsec.sp"))
	}
	names := map[string]bool{}
	for n, i := range v.GetInterfaces() {
		field := fmt.Sprintf("interfaces[%d].name", n)
		if name := i.GetName(); names[name] {
			errs = append(errs, item.Invalid(field, "%q is listed twice", name))
		}
		names[i.GetName()] = true
	}
	return errors.Join(errs...)
}

func spdInterfaces(_ string, v *ipsec.SecurityPolicyDatabase) []kvs.KeyValuePair {
	out := make([]kvs.KeyValuePair, 0, len(v.GetInterfaces()))
	for _, i := range v.GetInterfaces() {
		out = append(out, kvs.KeyValuePair{Key: model.SPDInterfaceKey.Key(number(v.GetIndex()), i.GetName()), Value: i})
	}
	return out
}

func (d *spdDescriptor) change(ctx context.Context, v *ipsec.SecurityPolicyDatabase, add bool) error {
	if err := spdOperation.Check(d.vpp); err != nil {
		return err
	}
	return d.vpp.Call(ctx, &ipsecapi.IpsecSpdAddDel{IsAdd: add, SpdID: v.GetIndex()}, &ipsecapi.IpsecSpdAddDelReply{})
}

// retrieve returns all databases. One that is not expected may be of another client.
func (d *spdDescriptor) retrieve(ctx context.Context, correlate []spdKV) ([]spdKV, error) {
	found, err := session.DumpOf[*ipsecapi.IpsecSpdsDetails](ctx, d.vpp, spdOperation, &ipsecapi.IpsecSpdsDump{})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	on, err := bindings(ctx, d.vpp)
	if err != nil {
		return nil, err
	}
	snapshot := d.ifs.Snapshot(ctx)
	used := map[uint32][]string{} // by the number of the database
	var others item.Foreign[*ipsec.SecurityPolicyDatabase, kvs.Metadata]
	for _, b := range on {
		v := &ipsec.SecurityPolicyDatabase{Index: b.spd}
		if name, ok := others.Interface(snapshot, b.swIfIndex, model.SPDModel.Key(v), v); ok {
			used[b.spd] = append(used[b.spd], name)
		}
	}
	out := make([]spdKV, len(found))
	for i, spd := range found {
		v := &ipsec.SecurityPolicyDatabase{Index: spd.SpdID}
		for _, name := range slices.Sorted(slices.Values(used[spd.SpdID])) {
			v.Interfaces = append(v.Interfaces, &ipsec.SecurityPolicyDatabase_Interface{Name: name})
		}
		out[i] = spdKV{Key: model.SPDModel.Key(v), Value: v, Origin: kvs.UnknownOrigin}
		if slices.ContainsFunc(correlate, func(c spdKV) bool { return c.Key == out[i].Key }) {
			out[i].Origin = kvs.FromNB
		}
	}
	return append(out, others.All...), snapshot.Err()
}

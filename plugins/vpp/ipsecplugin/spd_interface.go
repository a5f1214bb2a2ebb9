package ipsecplugin

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/vlib"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipsecplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

// The use of a policy database on an interface is derived from the database. VPP has one
// database for an interface, and forgets to end the use when the interface is deleted: the next
// one with the same index would have the database without its effect.

var spdInterfaceOperation = session.Require("IPsec SPD: interfaces", "",
	(*ipsecapi.IpsecInterfaceAddDelSpd)(nil), (*ipsecapi.IpsecInterfaceAddDelSpdReply)(nil),
	(*ipsecapi.IpsecSpdInterfaceDump)(nil), (*ipsecapi.IpsecSpdInterfaceDetails)(nil))

type spdInterface struct {
	vpp *session.VPP
	ifs item.Interfaces
}

// NewSPDInterface describes the use of policy databases on interfaces.
func NewSPDInterface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &spdInterface{vpp, ifs}
	return kvs.Adapt(&kvs.Descriptor[*ipsec.SecurityPolicyDatabase_Interface, kvs.Metadata]{
		Name:        SPDInterfaceName,
		Southbound:  item.Southbound,
		KeySelector: model.SPDInterfaceKey.Matches,
		Dependencies: func(_ string, i *ipsec.SecurityPolicyDatabase_Interface) []kvs.Dependency {
			return []kvs.Dependency{item.DependsOnInterface("interface-exists", i.GetName())}
		},
		Identities: func(_ string, i *ipsec.SecurityPolicyDatabase_Interface) []string {
			return []string{"spd-interface/" + i.GetName()}
		},
		CreateContext: d.create,
		DeleteContext: d.remove,
	})
}

// create uses the database on an interface. If VPP says that the interface has one, which is
// this one, it belonged to another interface with the same index.
func (d *spdInterface) create(ctx context.Context, key string, i *ipsec.SecurityPolicyDatabase_Interface) (kvs.Metadata, error) {
	b, err := d.binding(key, i)
	if err != nil {
		return nil, err
	}
	err = d.bind(ctx, b, true)
	if !errors.Is(err, api.SYSCALL_ERROR_2) {
		return nil, err
	}
	has, findErr := bindings(ctx, d.vpp)
	if findErr != nil {
		return nil, errors.Join(err, findErr)
	}
	for _, other := range has {
		if other.swIfIndex == b.swIfIndex && other.spd != b.spd {
			return nil, fmt.Errorf("interfaces.name: %q uses database %d, end that first: %w", i.GetName(), other.spd, err)
		}
	}
	if err := d.bind(ctx, b, false); err != nil {
		return nil, fmt.Errorf("end the use of the database by a deleted interface: %w", err)
	}
	return nil, d.bind(ctx, b, true)
}

func (d *spdInterface) remove(ctx context.Context, key string, i *ipsec.SecurityPolicyDatabase_Interface, _ kvs.Metadata) error {
	b, err := d.binding(key, i)
	if err != nil {
		return err
	}
	if err := d.bind(ctx, b, false); !session.Gone(err, api.SYSCALL_ERROR_1) {
		return err
	}
	return nil
}

func (d *spdInterface) bind(ctx context.Context, b binding, add bool) error {
	if err := spdInterfaceOperation.Check(d.vpp); err != nil {
		return err
	}
	return d.vpp.Call(ctx, &ipsecapi.IpsecInterfaceAddDelSpd{
		IsAdd: add, SpdID: b.spd, SwIfIndex: interface_types.InterfaceIndex(b.swIfIndex),
	}, &ipsecapi.IpsecInterfaceAddDelSpdReply{})
}

// binding is the use of a database on an interface.
type binding struct{ spd, swIfIndex uint32 }

func (d *spdInterface) binding(key string, i *ipsec.SecurityPolicyDatabase_Interface) (b binding, err error) {
	args, ok := model.SPDInterfaceKey.Parse(key)
	if !ok {
		return b, fmt.Errorf("%q is not the key of the use of a policy database", key)
	}
	spd, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return b, fmt.Errorf("key %q: %w", key, err)
	}
	b.spd = uint32(spd)
	b.swIfIndex, err = item.SwIfIndex(d.ifs, i.GetName())
	return b, err
}

// bindings returns all uses of databases. The API lists them with the indexes of databases
// inside VPP, and the command line with their numbers, both in the same order
// (ipsec_spd_bindings_show_all in src/vnet/ipsec/ipsec_cli.c).
func bindings(ctx context.Context, vpp *session.VPP) ([]binding, error) {
	found, err := session.DumpOf[*ipsecapi.IpsecSpdInterfaceDetails](ctx, vpp, spdInterfaceOperation, &ipsecapi.IpsecSpdInterfaceDump{})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	const command = "show ipsec spd bindings"
	reply := &vlib.CliInbandReply{}
	if err := vpp.Call(ctx, &vlib.CliInband{Cmd: command}, reply); err != nil {
		return nil, fmt.Errorf("command %q: %w", command, err)
	}
	shown := bindingLine.FindAllStringSubmatch(reply.Reply, -1)
	if len(shown) != len(found) {
		return nil, fmt.Errorf("command %q shows %d interfaces, expected the %d that VPP lists", command, len(shown), len(found))
	}
	out := make([]binding, len(found))
	for i, d := range found {
		spd, err := strconv.ParseInt(shown[i][1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("command %q: %w", command, err)
		}
		out[i] = binding{uint32(spd), uint32(d.SwIfIndex)} // large numbers are shown as negative ones
	}
	return out, nil
}

var bindingLine = regexp.MustCompile(`(?m)^ *(-?\d+) -> `)

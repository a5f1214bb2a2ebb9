// Package descriptor teaches the scheduler tables of nftables.
//
// A table of the agent has a comment that tells the value and its content: a table without it
// is that of another program. A change replaces the table in one transaction. nft prints a table
// in a form of its own; in an empty namespace it tells which form a content has, so that a
// restart changes nothing however the content is written.
package descriptor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/nftablesplugin/model"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	nftables "github.com/tenuto-dev/tenuto/proto/ligato/linux/nftables"
)

// Name is the name of the descriptor.
const Name = "linux-nftables-table"

const (
	interfaceExists = "interface-exists-" // label of a dependency, before the interface
	maxTableName    = 200                 // bytes
)

// Deps is what the descriptor needs.
type Deps struct {
	// Namespaces opens network namespaces.
	Namespaces Namespaces
	// Label is the label of the agent; agents with different labels may share a namespace.
	Label string
	// Log receives what a callback cannot return.
	Log logging.Logger
}

// Namespaces opens network namespaces; see nsplugin.API.
type Namespaces interface {
	Open(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
	Ensure(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
}

// Metadata is what is known of a table beside its value.
type Metadata struct {
	// Printed identifies the table as nft printed it when it was that of the value; empty:
	// not known.
	Printed string
}

type (
	table   = nftables.Table
	tableKV = api.KV[*table, Metadata]
)

// New returns the descriptor linux-nftables-table.
func New(deps Deps) *api.KVDescriptor {
	d := deps
	return api.Adapt(api.Describe(model.TableModel, api.Descriptor[*table, Metadata]{
		Name:            Name,
		Southbound:      nsmodel.Southbound,
		WithMetadata:    true,
		ValueComparator: sameTable,
		Validate:        validate,
		Dependencies:    dependencies,
		CreateContext:   func(ctx context.Context, _ string, v *table) (Metadata, error) { return d.set(ctx, v) },
		UpdateContext: func(ctx context.Context, _ string, _, v *table, _ Metadata) (Metadata, error) {
			return d.set(ctx, v)
		},
		UpdateWithRecreate: func(_ string, a, b *table, _ Metadata) bool { return !samePlace(a, b) },
		DeleteContext:      func(ctx context.Context, _ string, v *table, _ Metadata) error { return d.delete(ctx, v) },
		RetrieveContext:    d.retrieve,
		ConcurrentRetrieve: true,
	}))
}

func samePlace(a, b *table) bool {
	return nsmodel.Equal(a.GetNamespace(), b.GetNamespace()) && place(a) == place(b)
}

func sameTable(_ string, a, b *table) bool {
	return a.GetName() == b.GetName() && samePlace(a, b) && slices.Equal(a.GetInterfaces(), b.GetInterfaces()) &&
		plain(a.GetContent()) == plain(b.GetContent())
}

// families are the families as nft calls them.
var families = map[nftables.Table_Family]string{
	nftables.Table_INET: "inet", nftables.Table_IP: "ip", nftables.Table_IP6: "ip6",
	nftables.Table_ARP: "arp", nftables.Table_BRIDGE: "bridge", nftables.Table_NETDEV: "netdev",
}

// place is the table of a value in its namespace.
func place(v *table) netlinkapi.NFTable {
	name := v.GetTableName()
	if name == "" {
		name = v.GetName()
	}
	return netlinkapi.NFTable{Family: families[v.GetFamily()], Name: name}
}

// tableName is what nft takes for a name.
var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

func validate(_ string, v *table) error {
	var errs []error
	if v.GetName() == "" {
		errs = append(errs, invalid("name", "empty; expected a name of the table"))
	} else if name := place(v).Name; len(name) > maxTableName || !tableName.MatchString(name) {
		field, hint := "table_name", ""
		if v.GetTableName() == "" {
			field, hint = "name", "; table_name can give it another one in the kernel"
		}
		errs = append(errs, invalid(field, "%q; expected at most %d letters, digits, dots, hyphens and underscores, and a letter first%s",
			name, maxTableName, hint))
	}
	if err := nsmodel.Validate(v.GetNamespace()); err != nil {
		errs = append(errs, invalid("namespace", "%w", err))
	}
	if families[v.GetFamily()] == "" {
		errs = append(errs, invalid("family", "%d; expected INET, IP, IP6, ARP, BRIDGE or NETDEV", v.GetFamily()))
	}
	for i, iface := range v.GetInterfaces() {
		switch {
		case iface == "":
			errs = append(errs, invalid(fmt.Sprintf("interfaces[%d]", i), "empty; expected the name of an interface"))
		case slices.Index(v.GetInterfaces(), iface) < i:
			errs = append(errs, invalid(fmt.Sprintf("interfaces[%d]", i), "%q again; expected each interface once", iface))
		}
	}
	if err := checkContent(v.GetContent()); err != nil {
		errs = append(errs, invalid("content", "%w", err))
	}
	return errors.Join(errs...)
}

func dependencies(_ string, v *table) []api.Dependency {
	deps := nsmodel.Dependencies(v.GetNamespace())
	for _, iface := range v.GetInterfaces() {
		deps = append(deps, api.Dependency{Label: interfaceExists + iface, Key: ifmodel.InterfaceModel.KeyFor(iface)})
	}
	return deps
}

// invalid is the error about one field of a value.
func invalid(field, format string, args ...any) error {
	return api.NewInvalidValueError(fmt.Errorf(format, args...), field)
}

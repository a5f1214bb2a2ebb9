// Package descriptor teaches the scheduler tables of nftables.
//
// A table of the agent has a comment that reports the value and its content: a table without it
// belongs to another program. A change replaces the table in one transaction. nft prints a table
// in a form of its own; in an empty namespace it reports which form a content has, so that a
// restart changes nothing however the content is written.
package descriptor

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/nftablesplugin/model"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/packetfilter"
	nftables "github.com/tenuto-dev/tenuto/proto/ligato/linux/nftables"
)

// Name is the name of the descriptor.
const Name = "linux-nftables-table"

const maxTableName = 200 // bytes

type (
	table   = nftables.Table
	tableKV = api.KV[*table, packetfilter.Metadata]
)

// New returns the descriptor linux-nftables-table.
func New(deps packetfilter.Deps) *api.KVDescriptor {
	d := tables{deps}
	return api.Adapt(api.Describe(model.TableModel, packetfilter.Describe(
		api.Descriptor[*table, packetfilter.Metadata]{Name: Name},
		packetfilter.Calls[*table]{
			Validate: validate, Same: sameContent, SamePlace: samePlace, Table: place,
			Set: packetfilter.Each(d.set), Delete: packetfilter.Each(d.delete),
			Finder: func([]tableKV) func(context.Context, tableKV) (*table, packetfilter.Metadata, error) { return d.find },
		})))
}

// tables are the tables of an agent.
type tables struct{ packetfilter.Deps }

func samePlace(a, b *table) bool {
	return nsmodel.Equal(a.GetNamespace(), b.GetNamespace()) && place(a) == place(b)
}

func sameContent(a, b *table) bool {
	return a.GetName() == b.GetName() && plain(a.GetContent()) == plain(b.GetContent())
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

func validate(v *table) error {
	var errs []error
	if name := place(v).Name; len(name) > maxTableName || !tableName.MatchString(name) {
		field, hint := "table_name", ""
		if v.GetTableName() == "" {
			field, hint = "name", "; table_name can give it another one in the kernel"
		}
		errs = append(errs, invalid(field, "%q; expected at most %d letters, digits, dots, hyphens and underscores, and a letter first%s",
			name, maxTableName, hint))
	}
	if families[v.GetFamily()] == "" {
		errs = append(errs, invalid("family", "%d; expected INET, IP, IP6, ARP, BRIDGE or NETDEV", v.GetFamily()))
	}
	if err := checkContent(v.GetContent()); err != nil {
		errs = append(errs, invalid("content", "%w", err))
	}
	return errors.Join(errs...)
}

// invalid is the error about one field of a value.
func invalid(field, format string, args ...any) error {
	return api.NewInvalidValueError(fmt.Errorf(format, args...), field)
}

package item

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/models"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Set describes a type of item that is one or more entries of a table, where values with
// different keys can want the same entry, which VPP would give to the last one without an
// error. A value that is created gets no entry that VPP has with other contents: that is of
// another value, or of another client of VPP. Set is for tables of a few entries: they are
// read before every operation, and operations run one at a time.
//
// V, E and K are as in Entry; E and K are comparable with ==.
type Set[V proto.Message, E, K comparable] struct {
	// Name of the descriptor.
	Name string
	// Model places the values in the key space.
	Model models.Model[V]
	// Fields names the fields by which values want the same entry, for the error of the
	// second one.
	Fields string
	// Resolve translates a value into its entries, as for an Entry.
	Resolve func(r *Resolver, v V) []E
	// ID returns what VPP distinguishes an entry from others by.
	ID func(e E) K
	// Belongs reports that two entries with the same ID are of values with the same key;
	// default: always.
	Belongs func(a, b E) bool
	// Value translates the entries that were found in VPP into a value. wanted are the entries
	// of the expected value; some may be missing in VPP. If no value is expected, wanted is
	// nil and found has one entry.
	Value func(n *Names, wanted, found []E) V
	// Displace has an entry removed before another one with its ID is added. Otherwise VPP
	// replaces it.
	Displace bool
	// Table is how VPP handles the entries.
	Table Table[E]
}

// Table adds, removes and lists entries. Add may return metadata of the value.
type Table[E any] struct {
	Add    func(ctx context.Context, e E) (kvs.Metadata, error)
	Remove func(ctx context.Context, e E) error
	All    func(ctx context.Context) ([]E, error)
}

// NewSet returns the descriptor of a type. ifs may be nil if its values name no interfaces.
func NewSet[V proto.Message, E, K comparable](vpp *session.VPP, ifs Interfaces, t Set[V, E, K]) *kvs.KVDescriptor {
	d := &sets[V, E, K]{Set: t, resolver: translation[V, []E, K]{Resolution: Resolution[V, []E]{Interfaces: ifs, Resolve: t.Resolve}, vpp: vpp}}
	return kvs.Adapt(kvs.Describe(t.Model, kvs.Descriptor[V, kvs.Metadata]{
		Name:                 t.Name,
		Southbound:           Southbound,
		WithMetadata:         true,
		Validate:             d.resolver.Validate,
		Dependencies:         d.resolver.Dependencies,
		ValueComparator:      d.resolver.same,
		Identities:           d.identities,
		CreateContext:        d.create,
		UpdateContext:        d.update,
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: d.resolver.after(nil),
	}))
}

type sets[V proto.Message, E, K comparable] struct {
	Set[V, E, K]
	resolver translation[V, []E, K]
}

// identities are the IDs of the entries: VPP has one entry for each.
func (d *sets[V, E, K]) identities(_ string, v V) (all []string) {
	for _, e := range d.Resolve(&Resolver{hashes: true}, v) {
		all = append(all, fmt.Sprintf("%s/%v", d.Name, d.ID(e)))
	}
	return all
}

func (d *sets[V, E, K]) create(ctx context.Context, _ string, v V) (kvs.Metadata, error) {
	entries, err := d.resolver.Live(v)
	if err != nil {
		return nil, err
	}
	return d.add(ctx, entries, true, nil)
}

func (d *sets[V, E, K]) update(ctx context.Context, _ string, old, v V, m kvs.Metadata) (kvs.Metadata, error) {
	entries, err := d.resolver.Live(v)
	if err != nil {
		return nil, err
	}
	before, _ := d.resolver.Live(old) // invalid where it was read incompletely
	stays := func(e E) bool {
		return slices.ContainsFunc(entries, func(wanted E) bool { return d.ID(wanted) == d.ID(e) })
	}
	if err := d.removeAll(ctx, slices.DeleteFunc(before, stays)); err != nil {
		return nil, err
	}
	return d.add(ctx, entries, false, m)
}

// add adds the entries that VPP lacks, or none; m is the metadata until one is added. A value
// that is created has none yet.
func (d *sets[V, E, K]) add(ctx context.Context, entries []E, created bool, m kvs.Metadata) (kvs.Metadata, error) {
	missing, displaced, err := d.compare(ctx, entries, created)
	if err != nil {
		return nil, err
	}
	for _, e := range displaced {
		if err := d.Table.Remove(ctx, e); err != nil {
			return nil, err
		}
	}
	for n, e := range missing {
		made, err := d.Table.Add(ctx, e)
		if err != nil {
			for _, added := range missing[:n] {
				err = errors.Join(err, d.Table.Remove(ctx, added))
			}
			return nil, err
		}
		if made != nil {
			m = made
		}
	}
	return m, nil
}

// compare returns the entries that VPP lacks, and those that must go for them.
func (d *sets[V, E, K]) compare(ctx context.Context, entries []E, created bool) (missing, displaced []E, err error) {
	all, err := d.Table.All(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		has, found := d.at(all, e)
		if found && has == e {
			continue
		}
		missing = append(missing, e)
		if !found {
			continue
		}
		if created || !d.belongs(has, e) {
			if err := d.taken(ctx, has); err != nil {
				return nil, nil, err
			}
		}
		if d.Displace {
			displaced = append(displaced, has)
		}
	}
	return missing, displaced, nil
}

// taken is the error for an entry that another value or client has; nil if it refers to something
// that is not known to the agent, such as an interface that was deleted.
func (d *sets[V, E, K]) taken(ctx context.Context, has E) error {
	n := d.resolver.names(ctx)
	v := d.Value(n, nil, []E{has})
	switch err := n.err(); {
	case err != nil:
		return err
	case n.unknown && !n.gone:
		return fmt.Errorf("%s: VPP has it already, and another process made it, with %s: it is left as it is; remove it", d.Fields, strings.Join(n.untagged, ", "))
	case n.unknown:
		return nil
	}
	return fmt.Errorf("%s: VPP has it already, for %s", d.Fields, d.Model.Key(v))
}

// at returns the entry that VPP has with the ID of another one.
func (d *sets[V, E, K]) at(all []E, e E) (has E, found bool) {
	i := slices.IndexFunc(all, func(has E) bool { return d.ID(has) == d.ID(e) })
	if i < 0 {
		return has, false
	}
	return all[i], true
}

func (d *sets[V, E, K]) belongs(a, b E) bool { return d.Belongs == nil || d.Belongs(a, b) }

func (d *sets[V, E, K]) remove(ctx context.Context, _ string, v V, _ kvs.Metadata) error {
	entries, _ := d.resolver.Live(v) // as in update
	return d.removeAll(ctx, entries)
}

// removeAll removes the entries that VPP has and no other value.
func (d *sets[V, E, K]) removeAll(ctx context.Context, entries []E) error {
	all, err := d.Table.All(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if has, found := d.at(all, e); !found || !d.belongs(has, e) {
			continue
		}
		if err := d.Table.Remove(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (d *sets[V, E, K]) retrieve(ctx context.Context, correlate []kvs.KV[V, kvs.Metadata]) (out []kvs.KV[V, kvs.Metadata], err error) {
	all, err := d.Table.All(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	n, keys := d.resolver.names(ctx), map[string]bool{}
	found := func(kv kvs.KV[V, kvs.Metadata]) {
		if !n.unknown && !keys[kv.Key] {
			keys[kv.Key], out = true, append(out, kv)
		}
		n.next()
	}
	for _, c := range certainFirst(correlate) {
		c.Value = kvs.WithoutUnmodeled(c.Value)
		wanted, err := d.resolver.Live(c.Value)
		if err != nil {
			continue // it names what is not in VPP
		}
		var parts []E
		all = slices.DeleteFunc(all, func(e E) bool {
			part := slices.ContainsFunc(wanted, func(w E) bool { return d.ID(w) == d.ID(e) && d.belongs(w, e) })
			if part {
				parts = append(parts, e)
			}
			return part
		})
		if len(parts) == 0 {
			continue
		}
		v := c.Value // in its spelling
		if len(parts) != len(wanted) || slices.ContainsFunc(parts, func(e E) bool { return !slices.Contains(wanted, e) }) {
			v = d.Value(n, wanted, parts)
			if !n.unknown {
				d.mark(v, parts)
			}
		}
		found(kvs.KV[V, kvs.Metadata]{Key: c.Key, Value: v, Metadata: c.Metadata, Origin: kvs.FromNB})
	}
	for _, e := range all {
		found(d.other(n, e))
	}
	return out, n.err()
}

// other returns an entry that no expected value has.
func (d *sets[V, E, K]) other(n *Names, e E) kvs.KV[V, kvs.Metadata] {
	v := d.Value(n, nil, []E{e})
	key, partly := n.partly(v, func(n *Names) string { return d.Model.Key(d.Value(n, nil, []E{e})) })
	if !partly && !n.unknown {
		key = d.Model.Key(v)
		d.mark(v, []E{e})
	}
	return kvs.KV[V, kvs.Metadata]{Key: key, Value: v, Origin: kvs.UnknownOrigin} // VPP keeps no tag for it
}

// mark adds to a value what its model lacks of the entries that it was made of.
func (d *sets[V, E, K]) mark(v V, entries []E) {
	if modeled, err := d.resolver.Live(v); err == nil {
		markParts(v, entries, modeled, d.ID)
	}
}

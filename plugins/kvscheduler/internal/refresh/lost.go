package refresh

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Losses is what has become of values that the graph believes to exist, by key.
type Losses struct {
	Lost    []string // the southbound does not have them
	Changed []string // it has other values
	Unread  []string // they could not be read
}

// Lost reads values that the graph believes to exist. The graph does not change. A
// value whose own descriptor cannot read it is never lost.
func (r *Refresher) Lost(keys []string) (l Losses) {
	bad := troubles{lost: map[string]*trouble{}}
	defer func() {
		bad.tell(r.Observer)
		slices.Sort(l.Lost)
		slices.Sort(l.Changed)
		slices.Sort(l.Unread)
	}()
	together := r.together(keys)
	groups := map[*registry.Descriptor][]*graph.Node{}
	for _, key := range keys {
		n := r.Graph.Node(key)
		switch d := n.Desc; {
		case d == nil || r.Closed[d.Session()]:
		case d.RetrieveValue != nil && !together[d]:
			if !bad.note(d, key, 1, func() error { return r.lookAt(n, &l) }) {
				l.Unread = append(l.Unread, key)
			}
		case d.Retrieve != nil && !n.IsDerived():
			groups[d] = append(groups[d], n)
		}
	}
	failed := bad.noteGroups(groups, func(d *registry.Descriptor, nodes []*graph.Node) error { return r.lookAmong(d, nodes, &l) })
	l.Unread = append(l.Unread, failed...)
	return l
}

// lookAt reads one value.
func (r *Refresher) lookAt(n *graph.Node, l *Losses) error {
	msg, _, exists, err := r.retrieveValue(n, n.Have.Msg)
	if err == nil {
		l.add(n, msg, exists)
	}
	return err
}

// lookAmong reads all values of a descriptor.
func (r *Refresher) lookAmong(d *registry.Descriptor, nodes []*graph.Node, l *Losses) error {
	found, err := r.Descriptor(d)
	if err != nil {
		return err
	}
	values := make(map[string]proto.Message, len(found))
	for _, kv := range found {
		values[kv.Key] = kv.Value
	}
	for _, n := range nodes {
		msg, exists := values[n.Key]
		l.add(n, msg, exists)
	}
	return nil
}

// add adds a value that was found, or was not.
func (l *Losses) add(n *graph.Node, found proto.Message, exists bool) {
	switch {
	case !exists:
		l.Lost = append(l.Lost, n.Key)
	case found != nil && !n.Desc.Equivalent(n.Key, found, n.Have.Msg):
		l.Changed = append(l.Changed, n.Key)
	}
}

package graph

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// index puts the metadata where others look it up; indexes are functions of the
// descriptor.
func (n *Node) index(exists bool, meta api.Metadata) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("descriptor %q: an index of its metadata panicked: %v", n.Desc.Name, p)
		}
	}()
	if !exists {
		n.Desc.Metadata.Delete(n.Desc.Label(n.Key))
		return nil
	}
	return n.Desc.Metadata.Put(n.Desc.Label(n.Key), meta)
}

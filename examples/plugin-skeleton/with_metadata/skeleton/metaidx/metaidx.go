// Package metaidx is the metadata of items: what is known of them only once
// they exist, and the ways to look it up.
package metaidx

import "github.com/tenuto-dev/tenuto/infra/idxmap"

// ItemMetadata is the metadata of one item.
type ItemMetadata struct {
	// Index is the number that the device gave to the item.
	Index uint32
}

// ByIndex finds the names of items by their index.
var ByIndex = idxmap.Index[*ItemMetadata, uint32]{
	Name: "index",
	Keys: func(m *ItemMetadata) []uint32 { return []uint32{m.Index} },
}

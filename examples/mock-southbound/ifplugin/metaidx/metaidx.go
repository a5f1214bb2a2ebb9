// Package metaidx is the metadata of interfaces.
package metaidx

// InterfaceMetadata is what is known of an interface once it exists.
type InterfaceMetadata struct {
	// Index is the number that the southbound gave to it.
	Index uint32
}

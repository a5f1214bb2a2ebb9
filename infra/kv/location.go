package kv

import "strconv"

// Location is where a value was written, for people. The locations in one file share
// its name, so they take little memory. The zero value is an unknown location.
type Location struct {
	place *string
	line  int32 // 0: the whole place; ownKey: see Keyed
}

// ownKey is the line of locations that end with the key of their value.
const ownKey = -1

// At returns a location by the name of its place; empty if the name is.
func At(place string) Location {
	if place == "" {
		return Location{}
	}
	return Location{place: &place}
}

// Line returns the location of a line, from 1 on, in the same place.
func (l Location) Line(line int) Location { return Location{l.place, int32(max(line, 0))} }

// Keyed returns the location that has the key of its value at the end
// ("etcd:/vnf-agent/vpp1/" and the key).
func (l Location) Keyed() Location { return Location{l.place, ownKey} }

// Place returns the name of the place; empty if it is unknown.
func (l Location) Place() string {
	if l.place == nil {
		return ""
	}
	return *l.place
}

// In reports whether the location is in the place with this name.
func (l Location) In(place string) bool { return l.place != nil && *l.place == place }

// Sharing returns the same location, which shares the name of its place with other if that
// is in the same place.
func (l Location) Sharing(other Location) Location {
	if l.place != nil && other.In(*l.place) {
		l.place = other.place
	}
	return l
}

// Equal reports whether both are the same location, for values with the same key.
func (l Location) Equal(other Location) bool {
	return l == other || l.line == other.line && other.place != nil && l.In(*other.place)
}

// Text returns the location of the value of a key ("net.yaml:12"); empty if it is
// unknown.
func (l Location) Text(key string) string {
	switch {
	case l.place == nil:
		return ""
	case l.line == ownKey:
		return *l.place + key
	case l.line == 0:
		return *l.place
	}
	return *l.place + ":" + strconv.Itoa(int(l.line))
}

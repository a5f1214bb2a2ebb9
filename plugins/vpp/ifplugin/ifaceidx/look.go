package ifaceidx

import (
	"context"
	"maps"
)

// Tags asks VPP for the tags of its interfaces, by index: of the one with the
// index, none if there is no such interface, or of all for AllInterfaces.
type Tags func(ctx context.Context, swIfIndex uint32) (map[uint32]string, error)

// AllInterfaces stands for an index.
const AllInterfaces = ^uint32(0)

// fewInterfaces is of how many VPP is asked one by one.
const fewInterfaces = 4

// Look is one look at the interfaces that VPP has. What VPP tells of routes and the
// like may name interfaces that another process has deleted behind the back of the agent,
// which still knows their names. VPP is asked when it is needed first. A Look is
// for one reading of the state, by one goroutine.
type Look struct {
	ctx   context.Context // of the reading
	x     Index
	known map[uint32]string // tags of those asked for; "" for who has none
	gone  map[uint32]bool
	all   bool
	err   error
}

// Asking returns the index with what its looks ask VPP with.
func (x Index) Asking(tags Tags) Index {
	x.tags = tags
	return x
}

// Look begins a look at VPP, which ends with ctx: that of the reading.
func (x Index) Look(ctx context.Context) *Look {
	return &Look{ctx: ctx, x: x, known: map[uint32]string{}, gone: map[uint32]bool{}}
}

// Name returns the name of the interface that VPP has under the index; false if it
// is not known by a name, or not in VPP any more. If another has taken the index, it
// is false and the name is that of the one before. See Err.
func (l *Look) Name(swIfIndex uint32) (string, bool) {
	name, _, ok := l.x.LookupBySwIfIndex(swIfIndex)
	if !ok || l.Gone(swIfIndex) {
		return "", false
	}
	// An interface that took the place of one of ours has no tag. Index 0 is always VPP's own.
	return name, l.known[swIfIndex] != "" || swIfIndex == 0 || l.x.tags == nil
}

// Gone reports that VPP has no interface of the index.
func (l *Look) Gone(swIfIndex uint32) bool {
	if l.x.tags == nil {
		return false
	}
	if _, ok := l.known[swIfIndex]; !ok && !l.gone[swIfIndex] {
		l.ask(swIfIndex)
	}
	return l.gone[swIfIndex]
}

func (l *Look) ask(swIfIndex uint32) {
	if l.err != nil {
		return
	}
	switch {
	case l.all:
	case len(l.known)+len(l.gone) >= fewInterfaces:
		l.Everything()
	default:
		l.read(swIfIndex)
	}
	if _, ok := l.known[swIfIndex]; !ok && l.err == nil {
		l.gone[swIfIndex] = true
	}
}

// Everything asks VPP for all interfaces at once, for who looks while VPP sends
// something else: an answer would come after all of that.
func (l *Look) Everything() {
	if l.x.tags != nil && !l.all && l.err == nil {
		l.all = true
		l.read(AllInterfaces)
	}
}

func (l *Look) read(swIfIndex uint32) {
	found, err := l.x.tags(l.ctx, swIfIndex)
	if err != nil {
		l.err = err
		return
	}
	maps.Copy(l.known, found)
}

// Err is why VPP could not be asked; what Name and Gone returned is not to be
// relied upon then.
func (l *Look) Err() error { return l.err }

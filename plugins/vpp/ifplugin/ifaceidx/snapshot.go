package ifaceidx

import (
	"context"
	"fmt"
	"maps"
)

// Tags asks VPP for the tags of its interfaces, by index: of the one with the
// index, none if there is no such interface, or of all for AllInterfaces.
type Tags func(ctx context.Context, swIfIndex uint32) (map[uint32]string, error)

// AllInterfaces stands for an index.
const AllInterfaces = ^uint32(0)

// fewInterfaces is of how many VPP is asked one by one.
const fewInterfaces = 4

// Snapshot is one reading of the interfaces that VPP has. What VPP reports of routes and the
// like may name interfaces that another process has deleted behind the back of the agent,
// which still knows their names. VPP is asked when it is needed first. A Snapshot is
// for one reading of the state, by one goroutine.
type Snapshot struct {
	ctx   context.Context // of the reading
	x     Index
	known map[uint32]string // tags of those asked for; "" for who has none
	gone  map[uint32]bool
	all   bool
	err   error
}

// Asking returns the index with what its snapshots ask VPP with.
func (x Index) Asking(tags Tags) Index {
	x.tags = tags
	return x
}

// Snapshot starts a reading of the interfaces of VPP that ends with ctx.
func (x Index) Snapshot(ctx context.Context) *Snapshot {
	return &Snapshot{ctx: ctx, x: x, known: map[uint32]string{}, gone: map[uint32]bool{}}
}

// Name returns the name of the interface that VPP has under the index; false if it
// has no known name, or is no longer in VPP. If another interface has taken the
// index, it is false and the name is the previous interface's. See Err.
func (s *Snapshot) Name(swIfIndex uint32) (string, bool) {
	name, _, ok := s.x.LookupBySwIfIndex(swIfIndex)
	if !ok || s.Gone(swIfIndex) {
		return "", false
	}
	// An interface that took the place of one of ours has no tag. Index 0 is always VPP's own.
	return name, s.known[swIfIndex] != "" || swIfIndex == 0 || s.x.tags == nil
}

// Untagged describes the interface that VPP has under the index, if it has no tag: the agent has no
// name for it.
func (s *Snapshot) Untagged(swIfIndex uint32) (text string, ok bool) {
	if s.x.tags == nil || s.Gone(swIfIndex) || s.err != nil || swIfIndex == 0 || s.known[swIfIndex] != "" {
		return "", false
	}
	return fmt.Sprintf("interface %d, which has no tag", swIfIndex), true
}

// Gone reports that VPP has no interface of the index.
func (s *Snapshot) Gone(swIfIndex uint32) bool {
	if s.x.tags == nil {
		return false
	}
	if _, ok := s.known[swIfIndex]; !ok && !s.gone[swIfIndex] {
		s.ask(swIfIndex)
	}
	return s.gone[swIfIndex]
}

func (s *Snapshot) ask(swIfIndex uint32) {
	if s.err != nil {
		return
	}
	switch {
	case s.all:
	case len(s.known)+len(s.gone) >= fewInterfaces:
		s.Everything()
	default:
		s.read(swIfIndex)
	}
	if _, ok := s.known[swIfIndex]; !ok && s.err == nil {
		s.gone[swIfIndex] = true
	}
}

// Everything asks VPP for all interfaces at once, for who looks while VPP sends
// something else: an answer would come after all of that.
func (s *Snapshot) Everything() {
	if s.x.tags != nil && !s.all && s.err == nil {
		s.all = true
		s.read(AllInterfaces)
	}
}

func (s *Snapshot) read(swIfIndex uint32) {
	found, err := s.x.tags(s.ctx, swIfIndex)
	if err != nil {
		s.err = err
		return
	}
	maps.Copy(s.known, found)
}

// Err is why VPP could not be asked; what Name and Gone returned is not to be
// relied upon then.
func (s *Snapshot) Err() error { return s.err }

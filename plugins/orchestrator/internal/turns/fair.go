package turns

import "slices"

// share is what waits below one step of the paths of those who wait: a user, a
// host, a connection. The queue itself is the share without a name. Turns come
// round robin among the shares inside a share; those without shares inside are
// connections, whose turns come in the order of arrival.
type share struct {
	name    string
	inside  []*share // those in which somebody waits, the one whose turn it is first
	turns   []*Turn
	clients int // of all turns inside
}

// enter adds somebody at the end of its path.
func (s *share) enter(path []string, t *Turn) {
	s.count(t, 1)
	if len(path) == 0 {
		s.turns = append(s.turns, t)
		return
	}
	next := s.find(path[0])
	if next == nil {
		next = &share{name: path[0]}
		s.inside = append(s.inside, next)
	}
	next.enter(path[1:], t)
}

func (s *share) find(name string) *share {
	for _, in := range s.inside {
		if in.name == name {
			return in
		}
	}
	return nil
}

func (s *share) count(t *Turn, by int) {
	if t.Class == Client {
		s.clients += by
	}
}

// leave takes somebody out.
func (s *share) leave(path []string, t *Turn) {
	s.count(t, -1)
	if len(path) == 0 {
		i := slices.Index(s.turns, t)
		s.turns = slices.Delete(s.turns, i, i+1)
		return
	}
	next := s.find(path[0])
	next.leave(path[1:], t)
	if next.empty() {
		i := slices.Index(s.inside, next)
		s.inside = slices.Delete(s.inside, i, i+1)
	}
}

func (s *share) empty() bool { return len(s.turns) == 0 && len(s.inside) == 0 }

// next is whose turn it is among those who may; nil: nobody's.
func (s *share) next(may func(*Turn) bool) *Turn {
	if i := slices.IndexFunc(s.turns, may); i >= 0 {
		return s.turns[i]
	}
	for _, in := range s.inside {
		if t := in.next(may); t != nil {
			return t
		}
	}
	return nil
}

// served lets the others on the path of a turn that came go first.
func (s *share) served(path []string) {
	if len(path) == 0 {
		return
	}
	if next := s.find(path[0]); next != nil { // else nobody waits there any more
		i := slices.Index(s.inside, next)
		s.inside = append(slices.Delete(s.inside, i, i+1), next)
		next.served(path[1:])
	}
}

// largest is the share inside with the most clients; nil: there is none with any.
func (s *share) largest() (largest *share) {
	for _, in := range s.inside {
		if in.clients > 0 && (largest == nil || in.clients > largest.clients) {
			largest = in
		}
	}
	return largest
}

// most names who has the most clients, and how many: the largest share, and what
// is inside of it as long as that has more than half of them.
func (s *share) most() (name string, clients int) {
	for in := s.largest(); in != nil; in = in.largest() {
		if name != "" && 2*in.clients <= clients {
			break
		}
		name, clients = in.name, in.clients
	}
	return name, clients
}

// yields is the client that makes room for one more, with the given path: at the
// first step at which another share has more clients than that of the newcomer
// would have, the latest of the largest one. It is nil if there is no such step;
// then it is the newcomer who has most.
func (s *share) yields(path []string) *Turn {
	if len(path) == 0 {
		return nil
	}
	own, largest, clients := s.find(path[0]), s.largest(), 1
	if own != nil {
		clients += own.clients
	}
	switch {
	case largest != nil && largest != own && largest.clients > clients:
		return largest.latest()
	case own != nil:
		return own.yields(path[1:])
	}
	return nil
}

// latest is the client that came last into the largest share.
func (s *share) latest() *Turn {
	if in := s.largest(); in != nil {
		return in.latest()
	}
	for _, t := range slices.Backward(s.turns) {
		if t.Class == Client {
			return t
		}
	}
	return nil
}

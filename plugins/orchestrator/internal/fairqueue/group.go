package fairqueue

import "slices"

// group is a node in the tree of waiting requests: a user, a host, or a
// connection. The root has no name. Children are served round robin; a node
// without children is a connection, whose requests are served in the order of
// arrival.
type group struct {
	name    string
	inside  []*group // those with waiting requests, the next one to serve first
	turns   []*Turn
	clients int // number of requests in the subtree
}

// enter appends a request at the end of its path.
func (s *group) enter(path []string, t *Turn) {
	s.count(t, 1)
	if len(path) == 0 {
		s.turns = append(s.turns, t)
		return
	}
	next := s.find(path[0])
	if next == nil {
		next = &group{name: path[0]}
		s.inside = append(s.inside, next)
	}
	next.enter(path[1:], t)
}

func (s *group) find(name string) *group {
	for _, in := range s.inside {
		if in.name == name {
			return in
		}
	}
	return nil
}

func (s *group) count(t *Turn, by int) {
	if t.Class == Client {
		s.clients += by
	}
}

// leave removes a request.
func (s *group) leave(path []string, t *Turn) {
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

func (s *group) empty() bool { return len(s.turns) == 0 && len(s.inside) == 0 }

// next returns the next request to serve among those that may run; nil if
// there is none.
func (s *group) next(may func(*Turn) bool) *Turn {
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

// served moves the nodes on the path of a served request behind their
// siblings.
func (s *group) served(path []string) {
	if len(path) == 0 {
		return
	}
	if next := s.find(path[0]); next != nil { // otherwise no request is waiting there
		i := slices.Index(s.inside, next)
		s.inside = append(slices.Delete(s.inside, i, i+1), next)
		next.served(path[1:])
	}
}

// largest returns the child with the most requests; nil if there are none.
func (s *group) largest() (largest *group) {
	for _, in := range s.inside {
		if in.clients > 0 && (largest == nil || in.clients > largest.clients) {
			largest = in
		}
	}
	return largest
}

// most returns the client with the most requests and their number: the largest
// child, and its largest descendants as long as they have more than half of its
// requests.
func (s *group) most() (name string, clients int) {
	for in := s.largest(); in != nil; in = in.largest() {
		if name != "" && 2*in.clients <= clients {
			break
		}
		name, clients = in.name, in.clients
	}
	return name, clients
}

// yields returns the request to reject in favour of a new one with the given
// path: at the first level where another child has more requests than the new
// request's child would have, the latest request of the largest child. It is
// nil if there is no such level; then the client of the new request has the
// most.
func (s *group) yields(path []string) *Turn {
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

// latest returns the most recent request in the largest child.
func (s *group) latest() *Turn {
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

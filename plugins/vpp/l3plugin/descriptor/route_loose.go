package descriptor

import (
	"context"
	"net/netip"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
)

// loosePaths remembers where paths lead through interfaces that VPP had not any
// more when the routes were read last, or our own paths where another interface had
// the index. VPP keeps such a path, which leads nowhere
// even when an interface gets the index again; lets every route with the same paths
// share its uselessness (path lists are shared, src/vnet/fib/fib_path_list.c); and
// may crash when another path comes beside it. So they all go before any route is
// made, by any process. The methods may be called concurrently.
type loosePaths struct {
	mu   sync.Mutex
	at   looseSet
	made uint64 // changes before and after each creation of a route
}

// looseSet has the indexes of the interfaces that paths to a destination lead through.
type looseSet map[destinationID]map[uint32]bool

// destinationID is a destination in a table.
type destinationID struct {
	table uint32
	dst   netip.Prefix
}

// reading starts a read of all routes. The returned function replaces the remembered paths
// by the read ones, unless a route was created meanwhile: its interface may have the index
// of one that was read before.
func (l *loosePaths) reading() (done func(looseSet)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	made := l.made
	return func(found looseSet) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.made == made {
			l.at = found
		}
	}
}

// created is called after the creation of a route, which begins with clear.
func (l *loosePaths) created() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made++
}

// add remembers a path.
func (l *loosePaths) add(r vppcalls.Route) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil {
		l.at = looseSet{}
	}
	l.at.add(r)
}

func (s looseSet) add(r vppcalls.Route) {
	id := destinationID{r.Table, r.Destination}
	if s[id] == nil {
		s[id] = map[uint32]bool{}
	}
	s[id][r.SwIfIndex] = true
}

// clear prunes every destination of such paths; who calls it meanwhile waits.
func (l *loosePaths) clear(ctx context.Context, prune func(ctx context.Context, table uint32, dst netip.Prefix, gone map[uint32]bool) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made++
	var pruning errgroup.Group
	pruning.SetLimit(concurrency)
	for id, gone := range l.at {
		pruning.Go(func() error { return prune(ctx, id.table, id.dst, gone) })
	}
	if err := pruning.Wait(); err != nil {
		return err
	}
	l.at = nil
	return nil
}

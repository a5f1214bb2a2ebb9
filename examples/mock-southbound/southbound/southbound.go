// Package southbound is a switch in memory: it prints its operations,
// refuses what a real one would refuse, and fails on request.
package southbound

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// ErrNotFound is the error for something that does not exist.
var ErrNotFound = errors.New("not found")

// Interface is an interface as the southbound knows it.
type Interface struct {
	Index    uint32
	Kind     string
	Name     string
	Enabled  bool
	RingSize uint32
}

// Entry is a forwarding entry.
type Entry struct{ Domain, Address, Interface string }

// Switch is the southbound. All methods may be called concurrently.
type Switch struct {
	mu         sync.Mutex
	out        io.Writer
	interfaces map[uint32]Interface
	next       uint32
	domains    map[string]map[string]bool // members by domain
	fib        map[Entry]bool
	failures   map[string]int // by operation
}

// New returns an empty switch that prints its operations to out; nil: it prints nothing.
func New(out io.Writer) *Switch {
	return &Switch{
		out: out, interfaces: map[uint32]Interface{}, next: 1,
		domains: map[string]map[string]bool{}, fib: map[Entry]bool{}, failures: map[string]int{},
	}
}

// Fail makes the next n operations of a kind ("add interface", "add fib", ...)
// fail.
func (s *Switch) Fail(operation string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[operation] = n
}

// Mute stops or resumes reporting of operations.
func (s *Switch) Mute(out io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = out
}

// do runs one operation unless it shall fail, and logs it. The lock is
// held.
func (s *Switch) do(operation, what string, effect func() error) error {
	var err error
	if s.failures[operation] > 0 {
		s.failures[operation]--
		err = errors.New("the southbound is not in the mood")
	} else {
		err = effect()
	}
	if s.out != nil {
		outcome := ""
		if err != nil {
			outcome = "  FAILED: " + err.Error()
		}
		fmt.Fprintf(s.out, "  southbound: %s %s%s\n", operation, what, outcome)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return nil
}

// AddInterface creates an interface and returns its index.
func (s *Switch) AddInterface(i Interface) (index uint32, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := fmt.Sprintf("%s (%s, ring %d) as number %d", i.Name, i.Kind, i.RingSize, s.next)
	err = s.do("add interface", what, func() error {
		i.Index = s.next
		s.next++
		s.interfaces[i.Index] = i
		return nil
	})
	return i.Index, err
}

// SetEnabled switches an interface on or off.
func (s *Switch) SetEnabled(index uint32, enabled bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := map[bool]string{true: "up", false: "down"}[enabled]
	return s.do("set interface", fmt.Sprintf("number %d %s", index, state), func() error {
		i, ok := s.interfaces[index]
		if !ok {
			return ErrNotFound
		}
		i.Enabled = enabled
		s.interfaces[index] = i
		return nil
	})
}

// DeleteInterface deletes an interface; it must not be in a bridge domain.
func (s *Switch) DeleteInterface(index uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.do("delete interface", fmt.Sprintf("number %d", index), func() error {
		i, ok := s.interfaces[index]
		if !ok {
			return ErrNotFound
		}
		for domain, members := range s.domains {
			if members[i.Name] {
				return fmt.Errorf("%s is a member of %s", i.Name, domain)
			}
		}
		delete(s.interfaces, index)
		return nil
	})
}

// Interfaces returns all interfaces by index.
func (s *Switch) Interfaces() []Interface {
	s.mu.Lock()
	defer s.mu.Unlock()
	byIndex := func(a, b Interface) int { return int(a.Index) - int(b.Index) }
	return slices.SortedFunc(maps.Values(s.interfaces), byIndex)
}

func (s *Switch) hasInterface(name string) bool {
	for _, i := range s.interfaces {
		if i.Name == name {
			return true
		}
	}
	return false
}

// AddDomain creates an empty bridge domain.
func (s *Switch) AddDomain(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.do("add bridge domain", name, func() error {
		if s.domains[name] != nil {
			return errors.New("exists already")
		}
		s.domains[name] = map[string]bool{}
		return nil
	})
}

// DeleteDomain deletes a bridge domain. As long as it has forwarding entries
// that would strand them, so it is refused.
func (s *Switch) DeleteDomain(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.do("delete bridge domain", name, func() error {
		if s.domains[name] == nil {
			return ErrNotFound
		}
		for e := range s.fib {
			if e.Domain == name {
				return fmt.Errorf("the entry for %s would be stale", e.Address)
			}
		}
		delete(s.domains, name)
		return nil
	})
}

// Join makes an interface a member of a bridge domain.
func (s *Switch) Join(domain, iface string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.do("join", domain+" "+iface, func() error {
		if s.domains[domain] == nil || !s.hasInterface(iface) {
			return ErrNotFound
		}
		s.domains[domain][iface] = true
		return nil
	})
}

// Leave ends a membership.
func (s *Switch) Leave(domain, iface string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.do("leave", domain+" "+iface, func() error {
		if !s.domains[domain][iface] {
			return ErrNotFound
		}
		delete(s.domains[domain], iface)
		return nil
	})
}

// Domains returns the members of all bridge domains, sorted.
func (s *Switch) Domains() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string][]string{}
	for name, members := range s.domains {
		all[name] = slices.Sorted(maps.Keys(members))
	}
	return all
}

// AddEntry adds a forwarding entry; its interface must be a member of its
// bridge domain.
func (s *Switch) AddEntry(e Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.do("add fib", fmt.Sprintf("%s %s via %s", e.Domain, e.Address, e.Interface), func() error {
		if !s.domains[e.Domain][e.Interface] {
			return ErrNotFound
		}
		s.fib[e] = true
		return nil
	})
}

// DeleteEntry deletes a forwarding entry.
func (s *Switch) DeleteEntry(e Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.do("delete fib", e.Domain+" "+e.Address, func() error {
		if !s.fib[e] {
			return ErrNotFound
		}
		delete(s.fib, e)
		return nil
	})
}

// Entries returns all forwarding entries, sorted.
func (s *Switch) Entries() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Keys(s.fib), func(a, b Entry) int {
		return strings.Compare(a.Domain+a.Address+a.Interface, b.Domain+b.Address+b.Interface)
	})
}

// String shows everything that exists.
func (s *Switch) String() string {
	var b strings.Builder
	for _, i := range s.Interfaces() {
		fmt.Fprintf(&b, "interface %d: %s (%s), enabled: %v\n", i.Index, i.Name, i.Kind, i.Enabled)
	}
	domains := s.Domains()
	for _, name := range slices.Sorted(maps.Keys(domains)) {
		fmt.Fprintf(&b, "bridge domain %s: %s\n", name, strings.Join(domains[name], ", "))
	}
	for _, e := range s.Entries() {
		fmt.Fprintf(&b, "fib %s: %s via %s\n", e.Domain, e.Address, e.Interface)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

package control

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/refresh"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// rereads is when descriptors are read again that could not be read. Only the
// worker changes it.
type rereads struct {
	attempt int
	told    string // the names of what is left to read
	planned bool   // a timer runs
}

// Unread is a descriptor of which it is not known what exists: Retrieve failed
// when its southbound came up, or at the start.
type Unread struct {
	Descriptor string
	Err        error
	Since      time.Time
}

// Unread lists the descriptors that could not be read and are tried again,
// sorted by name.
func (c *Control) Unread() []Unread {
	failed := c.reads.List()
	list := make([]Unread, len(failed))
	for i, f := range failed {
		list[i] = Unread{f.Desc.Name, f.Err, f.Since}
	}
	return list
}

// unread says why it is not known whether a value exists; empty if it is.
func (c *Control) unread(n *graph.Node) string {
	if root := n.Root(); root.Have == nil {
		return c.notRead(root.Key, root.Desc)
	}
	return ""
}

func (c *Control) notRead(key string, d *registry.Descriptor) string {
	f := c.reads.Of(key, d)
	if f == nil {
		return ""
	}
	text := fmt.Sprintf("descriptor %q to be read, which fails since %s: %v", f.Desc.Name, stamp(f.Since), f.Err)
	if next := c.nextReread.Load(); next != nil {
		text += "; tried again at " + stamp(*next)
	}
	return text
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// planReread has what could not be read tried again after a while: 1, 2, 4
// seconds and so on up to a minute.
func (c *Control) planReread() {
	r := &c.rereads
	failed := c.Unread()
	names := ""
	for i := range failed {
		names += failed[i].Descriptor + "\n"
	}
	if names != r.told {
		for _, name := range strings.Fields(r.told) {
			if d := c.registry.Load().ByName(name); !strings.Contains(names, name+"\n") && d.Session() != "" {
				c.beginTrials(d.Session()) // suspects that could not be tried
			}
		}
		if !strings.Contains(r.told, names) { // more than before
			r.attempt = 0
		}
		r.told = names
		if c.opts.Unread != nil {
			c.opts.Unread(failed)
		}
	}
	if len(failed) == 0 {
		c.nextReread.Store(nil)
		return
	}
	if r.planned {
		return
	}
	r.planned = true
	d := c.delay(*patiently(), r.attempt)
	r.attempt++
	next := c.clock.Now().Add(d)
	c.nextReread.Store(&next)
	c.after(d, reread{})
}

// prepareReread reads again what could not be read; false if nothing answered.
func (c *Control) prepareReread(p *prepared) bool {
	c.rereads.planned = false
	before := c.reads.List()
	if len(before) == 0 {
		return false
	}
	failed := map[*registry.Descriptor]bool{}
	for _, f := range before {
		failed[f.Desc] = true
	}
	r := c.refresher(p.request.Closed)
	r.Only = func(d *registry.Descriptor) bool { return failed[d] }
	r.All(nil)
	answered := c.answered(before)
	if len(answered) == 0 {
		return false
	}
	p.opts.Description = "read after it failed: " + strings.Join(answered, ", ")
	p.request.All = true
	p.request.DropUnwanted = c.fullResyncDone
	return true
}

// answered lists those of the descriptors of which more is known by now.
func (c *Control) answered(before []refresh.Failed) (names []string) {
	for _, f := range before {
		now := c.reads.Of("", f.Desc)
		if len(f.Keys) == 0 && now == nil || len(f.Keys) > 0 && len(c.stillWithout(f)) < len(f.Keys) {
			names = append(names, f.Desc.Name)
		}
	}
	return names
}

func (c *Control) stillWithout(f refresh.Failed) (keys []string) {
	for _, key := range f.Keys {
		if c.reads.Of(key, f.Desc) != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

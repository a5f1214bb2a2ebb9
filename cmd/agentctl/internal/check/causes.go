package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/fields"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// causes separates items that wait for what is not in the file from those that only wait for
// such items.
type causes struct {
	set     *models.Set
	items   map[string]document.Item
	names   map[string][]string       // key prefix of a model -> names of its items
	results map[string]*response.Item // items that are not in effect
	waiting map[string][]string       // key of a cause -> keys of the items that wait for it
	because map[string]string         // key of an item that only waits for others -> key of the cause
}

func newCauses(set *models.Set, items []document.Item, results []response.Item) *causes {
	c := &causes{
		set: set, items: map[string]document.Item{}, names: map[string][]string{}, results: map[string]*response.Item{},
		waiting: map[string][]string{}, because: map[string]string{},
	}
	for _, it := range items {
		c.items[it.Key] = it
		if m, ok := set.ForKey(it.Key); ok {
			c.names[m.KeyPrefix()] = append(c.names[m.KeyPrefix()], m.Label(it.Key))
		}
	}
	for i := range results {
		c.results[results[i].Key] = &results[i]
	}
	for i := range results {
		if r := &results[i]; c.follows(r) {
			if cause := c.rootOf(r.Key); cause != r.Key {
				c.because[r.Key] = cause
				c.waiting[cause] = append(c.waiting[cause], r.Key)
			}
		}
	}
	return c
}

// follows reports whether an item waits only for items of the file that are not in effect.
func (c *causes) follows(r *response.Item) bool {
	return r.State == "PENDING" && len(r.WaitsFor) > 0 &&
		!slices.ContainsFunc(r.WaitsFor, func(key string) bool { return c.results[key] == nil })
}

// rootOf returns the item at the end of a chain of items that wait for each other; the item
// itself if they wait in a circle.
func (c *causes) rootOf(key string) string {
	seen := map[string]bool{}
	for at := key; !seen[at]; at = c.results[at].WaitsFor[0] {
		if !c.follows(c.results[at]) {
			return at
		}
		seen[at] = true
	}
	return key
}

// maxDependents is the number of items that are named which wait for the same one.
const maxDependents = 2

// dependents describes the items that wait for a cause; empty if there are none.
func (o *options) dependents(c *causes, key string) string {
	var names []string
	for _, k := range c.waiting[key] {
		names = append(names, o.nameOf(k))
	}
	switch more := len(names) - maxDependents; {
	case len(names) == 0:
		return ""
	case len(names) == 1:
		return "; " + names[0] + " waits for it"
	case more > 0:
		return fmt.Sprintf("; %s and %d more wait for it", strings.Join(names[:maxDependents], ", "), more)
	}
	return "; " + strings.Join(names, " and ") + " wait for it"
}

// nameOf returns the name of an item, without its model if the name is a word.
func (o *options) nameOf(key string) string {
	if m, ok := o.Models.Set().ForKey(key); ok && !m.Singleton() && !strings.Contains(m.Label(key), "/") {
		return m.Label(key)
	}
	return o.Models.ShortKey(key)
}

// unknownItem is a reference to an item that the file does not have.
type unknownItem struct {
	key, field string // of the missing item, and of the reference; empty if the field is unknown
	similar    string // name of a similar item in the file
}

// unknown returns the references of an item to others that the file does not have.
func (c *causes) unknown(r *response.Item) (list []unknownItem) {
	for _, key := range r.WaitsFor {
		m, ok := c.set.ForKey(key)
		if !ok || !m.Matches(key) || c.results[key] != nil {
			continue
		}
		u := unknownItem{key: key, field: referenceTo(c.items[r.Key], m.Label(key))}
		u.similar = suggest.Nearest(m.Label(key), c.names[m.KeyPrefix()])
		list = append(list, u)
	}
	return list
}

// referenceTo returns the path of the field of an item that has the name of another one: the
// name itself, or a part of it, such as the number of a VRF table in a field for such numbers.
func referenceTo(item document.Item, name string) string {
	set := fields.Of(item.Value).Set()
	part := ""
	for _, path := range slices.Sorted(maps.Keys(set)) {
		text := strings.Trim(set[path], `"`)
		switch {
		case text == name:
			return path
		case part == "" && strings.Contains(path, "vrf") && slices.Contains(strings.Split(name, "/"), text):
			part = path
		}
	}
	return part
}

// hostLinks returns the links of the host that items wait for.
func hostLinks(results []response.Item) (names []string) {
	for _, r := range results {
		for _, key := range r.WaitsFor {
			if args, ok := ifmodel.HostInterfaceKey.Parse(key); ok {
				names = append(names, args[0])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// notInEffect returns what to report about an item that is not in effect.
func (o *options) notInEffect(c *causes, file string, locator *document.Locator, r *response.Item) (list []outcome.Finding) {
	where, key := c.items[r.Key].Position, o.Models.ShortKey(r.Key)
	where.File = file
	f := outcome.Finding{File: file, Line: where.Line, Column: where.Column, Key: r.Key, State: r.State, Because: c.because[r.Key]}
	unknown := c.unknown(r)
	for _, u := range unknown {
		at, text := where, key
		if u.field != "" {
			at, text = locator.Locate(where, u.field), key+": "+u.field
		}
		f.Line, f.Column, f.Field, f.Message = at.Line, at.Column, u.field, "there is no "+o.Models.ShortKey(u.key)+" in this file"
		if u.similar != "" {
			f.Message += "; did you mean " + u.similar + "?"
		}
		f.Message += o.dependents(c, r.Key)
		f.Text = (&document.Error{Position: at, Field: text, Msg: f.Message}).Error()
		list = append(list, f)
	}
	if len(unknown) == 0 {
		f.Message = o.Models.ShortText(r.Reason) + o.dependents(c, r.Key)
		f.Text = (&document.Error{Position: where, Field: key, Msg: r.State + ": " + f.Message}).Error()
		list = append(list, f)
	}
	return list
}

package check

import (
	"cmp"
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
	waits   map[string][]string       // key of an item -> what it waits for, see waitsFor
	waiting map[string][]string       // key of a cause -> keys of the items that wait for it
	because map[string]string         // key of an item that only waits for others -> key of the cause
	broken  map[string]bool           // keys of items with mistakes, which were not applied
	lost    map[string]string         // key prefix of a model -> the field with a mistake that hides items of it
}

func newCauses(set *models.Set, doc *document.Document, problems []response.Problem, results []response.Item) *causes {
	c := &causes{
		set: set, items: map[string]document.Item{}, names: map[string][]string{}, results: map[string]*response.Item{},
		waits: map[string][]string{}, waiting: map[string][]string{}, because: map[string]string{}, broken: map[string]bool{}, lost: lostModels(set, doc),
	}
	for _, it := range slices.Concat(doc.Items, doc.Partial) {
		c.items[it.Key] = it
		if m, ok := set.ForKey(it.Key); ok {
			c.names[m.KeyPrefix()] = append(c.names[m.KeyPrefix()], m.Label(it.Key))
		}
	}
	for i := range results {
		c.results[results[i].Key] = &results[i]
	}
	for _, p := range problems {
		c.broken[p.Key] = p.Key != ""
	}
	for _, it := range doc.Partial { // those in the results were applied without the fields that have errors
		c.broken[it.Key] = c.results[it.Key] == nil
	}
	for i := range results {
		c.waits[results[i].Key] = c.waitsFor(&results[i])
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
	waits := c.waits[r.Key]
	return r.State == "PENDING" && len(waits) > 0 && !slices.ContainsFunc(waits, func(key string) bool { return c.results[key] == nil && !c.broken[key] })
}

// derivedFrom are the models of the items that values are derived from, by prefix of the keys of the
// values, after which the name of the item follows. A prefix of another one is behind it.
var derivedFrom = []struct{ prefix, model string }{
	{"vpp/interface/dhcp-client/", "vpp.interfaces"},
	{"vpp/interface/dhcp-lease/", "vpp.interfaces"},
	{"vpp/interface/ip6nd/", "vpp.interfaces"},
	{"vpp/interface/unnumbered/", "vpp.interfaces"},
	{"vpp/neighbors/interface/", "vpp.interfaces"},
	{"vpp/status/v2/interface/", "vpp.interfaces"},
	{"vpp/interface/", "vpp.interfaces"},
	{"vpp/bd/", "vpp.l2.bridge-domain"},
	{"linux/interface/state/", "linux.interfaces.interface"},
	{"linux/interface/", "linux.interfaces.interface"},
	{"linux/interface-port/", "linux.interfaces.interface"},
	{"linux/interface-vlans/", "linux.interfaces.interface"},
	{"linux/link-local-route/", "linux.interfaces.interface"},
}

// waitsFor returns the keys that an item waits for. It replaces a key of a derived value, such as an
// address of an interface, by the key of the item if that is not in effect or not in the file.
func (c *causes) waitsFor(r *response.Item) (keys []string) {
	for _, key := range r.WaitsFor {
		if item := c.itemOf(r, key); item != "" {
			key = item
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return slices.DeleteFunc(keys, func(key string) bool { return c.belongs(key, keys) })
}

// belongs reports whether a key of a derived value has the name of an item that is awaited, too: the
// value cannot exist without the item.
func (c *causes) belongs(key string, awaited []string) bool {
	if _, ok := c.set.ForKey(key); ok {
		return false
	}
	return slices.ContainsFunc(awaited, func(other string) bool {
		m, ok := c.set.ForKey(other)
		return ok && m.Matches(other) && !m.Singleton() && strings.Contains(key+"/", "/"+m.Label(other)+"/")
	})
}

// itemOf returns the key of the item that a derived value belongs to, as far as a field of the waiting
// item names it; empty for others, and if the item is in effect.
func (c *causes) itemOf(r *response.Item, key string) string {
	for _, d := range derivedFrom {
		rest, ok := strings.CutPrefix(key, d.prefix)
		m, known := c.set.ForName(d.model)
		if !ok || !known {
			continue
		}
		name := ""
		for _, text := range fields.Of(c.items[r.Key].Value).Set() {
			if text = strings.Trim(text, `"`); len(text) > len(name) && strings.HasPrefix(rest+"/", text+"/") {
				name = text
			}
		}
		item := m.KeyPrefix() + name
		if _, exists := c.items[item]; name == "" || item == r.Key || exists && c.results[item] == nil && !c.broken[item] {
			return ""
		}
		return item
	}
	return ""
}

// rootOf returns the item at the end of a chain of items that wait for each other; the item
// itself if they wait in a circle.
func (c *causes) rootOf(key string) string {
	seen := map[string]bool{}
	for at := key; !seen[at]; at = c.waits[at][0] {
		if c.broken[at] || !c.follows(c.results[at]) {
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
	lost       string // path of the mistake that probably hides the item; empty: none
}

// unknown returns the references of an item to others that the file does not have.
func (c *causes) unknown(r *response.Item) (list []unknownItem) {
	for _, key := range c.waits[r.Key] {
		m, ok := c.set.ForKey(key)
		if !ok || !m.Matches(key) || c.results[key] != nil || c.broken[key] {
			continue
		}
		u := unknownItem{key: key, field: referenceTo(c.items[r.Key], m.Label(key))}
		others := slices.DeleteFunc(slices.Clone(c.names[m.KeyPrefix()]), func(name string) bool { return m.KeyPrefix()+name == r.Key })
		if u.similar = suggest.Nearest(m.Label(key), others); u.similar == "" {
			u.lost = c.lost[m.KeyPrefix()]
		}
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
		f.Common, f.Because = f.Message, cmp.Or(u.lost, c.because[r.Key])
		f.Message += o.dependents(c, r.Key)
		f.Text = (&document.Error{Position: at, Field: text, Msg: f.Message}).Error()
		list = append(list, f)
	}
	if len(unknown) == 0 {
		f.Common = o.Models.ShortText(r.Reason)
		f.Message = f.Common + o.dependents(c, r.Key)
		f.Text = (&document.Error{Position: where, Field: key, Msg: r.State + ": " + f.Message}).Error()
		list = append(list, f)
	}
	return list
}

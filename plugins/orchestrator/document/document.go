// Package document reads and writes configurations as people keep them: YAML
// or JSON, as a list of keys with their values
//
//	data:
//	- key: config/vpp/v2/interfaces/loop1
//	  value: {name: loop1, type: SOFTWARE_LOOPBACK}
//
// or grouped by module and type
//
//	vppConfig:
//	  interfaces:
//	  - {name: loop1, type: SOFTWARE_LOOPBACK}
//
// or both in one document. Reading is strict: every error has its position and
// the expected input. The valid items are still returned.
package document

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/models"
)

const (
	// maxSize bounds a document, in bytes: some millions of routes.
	maxSize = 256 << 20
	// maxDepth bounds how deep its values are nested.
	maxDepth = 100
	// maxAliased bounds the values that are reached through YAML aliases, so
	// that a small document cannot expand without end.
	maxAliased = 1 << 20
	// maxErrors is the maximum number of reported errors of one document.
	maxErrors = 100
	// maxKey and maxText limit the key of an item and the text of an error, in bytes.
	maxKey  = 4096
	maxText = 1024
	// allAgents is what keys with the label of an agent begin with.
	allAgents = "/vnf-agent/"
)

// Codec reads and writes documents with the items of a set of models. It is
// safe for concurrent use.
type Codec struct {
	set    *models.Set
	groups []*group
	plans  map[string]*plan               // by full name of the message
	open   map[protoreflect.FullName]bool // the messages of models without secrets

	// restore is the function of WithSecrets; nil: values with hidden secrets are
	// refused.
	restore func(key string, value proto.Message) (proto.Message, bool)

	// From which size on a list is not parsed as a whole, and about how much of
	// it is read at once, in bytes.
	long, piece int
}

var _ kv.Format = (*Codec)(nil)

// maxEmptyObject is the maximum size of a text without items, with its comments.
const maxEmptyObject = 64 << 10

// New returns a codec for the models.
func New(set *models.Set) *Codec {
	c := &Codec{set: set, plans: map[string]*plan{}, open: map[protoreflect.FullName]bool{}, long: 64 << 10, piece: 128 << 10}
	for _, m := range set.All() {
		d := m.NewInstance().ProtoReflect().Descriptor()
		c.planOf(d)
		c.open[d.FullName()] = !logging.HoldsSecrets(d)
	}
	c.groups = layout(set)
	for _, g := range c.groups {
		for _, m := range g.members {
			m.plan = c.plans[string(m.model.ProtoName())]
		}
	}
	return c
}

// HiddenText is the error of a field with a hidden secret.
const HiddenText = logging.Hidden + " is the placeholder of a hidden secret, and no secret is stored for this item; expected the secret (agentctl --show-secrets)"

// HiddenField is logging.HiddenField; it does not look into items that have no secrets.
func (c *Codec) HiddenField(item proto.Message) string {
	if item == nil || c.open[item.ProtoReflect().Descriptor().FullName()] {
		return ""
	}
	return logging.HiddenField(item)
}

// WithSecrets returns a codec whose Decode passes values with hidden secrets to restore,
// instead of refusing them. restore returns the value to use, or false to refuse it. It
// must be safe for concurrent use.
func (c *Codec) WithSecrets(restore func(key string, value proto.Message) (proto.Message, bool)) *Codec {
	with := *c
	with.restore = restore
	return &with
}

// Models returns the models whose items are read and written.
func (c *Codec) Models() *models.Set { return c.set }

// Document is the content of a text.
type Document struct {
	Items   []Item   // in the order of the text
	Errs    []*Error // the errors, in the order of the text; at most 100 and a last one that counts the others
	Foreign int      // items whose keys belong to other agents; they are not looked at
	Broken  bool     // the text could not be read at all

	// Partial are the items that have keys but fields with errors. Their values lack these
	// fields; they are for further checks only.
	Partial []Item
}

// Item is one configuration item.
type Item struct {
	Position
	Key   string // short: "config/vpp/v2/interfaces/loop1"
	Value proto.Message
	// Written is the key in the text, if it differs from Key, as in stores of the predecessor.
	Written string
}

// Position is a place in a text; lines and columns count from 1.
type Position struct {
	File         string
	Line, Column int
}

// String returns "file:line".
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return string(strconv.AppendInt(append(append(make([]byte, 0, 128), p.File...), ':'), int64(p.Line), 10))
}

// Error is an error at one position.
type Error struct {
	Position
	Field string // "vppConfig.interfaces[3].mtu"; empty for the text as a whole
	Key   string // of the item, where it is known
	Msg   string

	// More is the number of errors that this one stands for, because there are too many; 0: it is an error itself.
	More int

	item string // the key that the item has as far as it can be read
}

// ItemKey returns the key of the item, or that which it has by the fields that
// can be read; empty if it has none.
func (e *Error) ItemKey() string { return cmp.Or(e.Key, e.item) }

// Error returns "file:line:column: field: message".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	return b.String() + ": " + e.Msg
}

// Decode reads a text. file is its name in errors; if it ends in ".json" the
// text must be JSON. prefix ("/vnf-agent/vpp1/") is the agent's prefix: items
// with keys of other agents are only counted. With an empty prefix the agent in
// a key does not matter.
func (c *Codec) Decode(file string, text []byte, prefix string) *Document {
	doc, ok := c.decode(file, text, prefix, true)
	if !ok {
		doc, _ = c.decode(file, text, prefix, false)
	}
	return doc
}

// decode reads a text; with asPlain as one that may be plain, which is faster,
// and fails if it is not after all.
func (c *Codec) decode(file string, text []byte, prefix string, asPlain bool) (doc *Document, ok bool) {
	roots, lists, err := c.parse(file, text, asPlain)
	if err != nil {
		return &Document{Broken: true, Errs: []*Error{err}}, true
	}
	d := &decoder{
		codec: c, file: file, prefix: prefix, doc: &Document{},
		seen: map[string]int{}, aliased: maxAliased,
	}
	for _, n := range roots {
		d.root(n)
	}
	d.addRest()
	switch {
	case d.tooBig != nil:
		return &Document{Broken: true, Errs: []*Error{d.tooBig.in(file)}}, true
	case d.stopped():
		d.doc.Errs = append(d.doc.Errs, &Error{Position: Position{File: file}, Msg: fmt.Sprintf("and more than %d more errors; the rest was not read", maxUnread), More: d.untold})
		return &Document{Broken: true, Errs: d.doc.Errs}, true
	}
	d.doc.Errs = d.reported()
	return d.doc, !d.unplain && d.lists == lists
}

// reported returns the errors, with a last one that counts those beyond the limit.
func (d *decoder) reported() []*Error {
	if d.untold == 0 {
		return d.doc.Errs
	}
	return append(d.doc.Errs, &Error{Position: Position{File: d.file}, Msg: fmt.Sprintf("and %d more errors", d.untold), More: d.untold})
}

// Read is Decode in the form that key-value stores use.
func (c *Codec) Read(file string, text []byte, prefix string) kv.Content {
	doc := c.Decode(file, text, prefix)
	content := kv.Content{Entries: entries(doc.Items), Foreign: doc.Foreign, Broken: doc.Broken, Emptied: isEmptyObject(text)}
	for _, e := range doc.Errs {
		content.Errs = append(content.Errs, e)
	}
	return content
}

// isEmptyObject reports whether a text is "{}", apart from spaces and comments.
func isEmptyObject(text []byte) bool {
	if len(text) > maxEmptyObject {
		return false
	}
	rest := ""
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "---" && !strings.HasPrefix(line, "#") {
			line, _, _ = strings.Cut(line, " #")
			rest += strings.Join(strings.Fields(line), "")
		}
	}
	return rest == "{}"
}

// decoder reads one text; it collects errors instead of stopping at the first.
type decoder struct {
	codec   *Codec
	file    string
	prefix  string
	doc     *Document
	seen    map[string]int // key to line; nil: the items go to another decoder, which looks
	key     string         // of the item being read, where it is known
	line    int            // added to lines: where a text within the text begins
	aliased int            // values that may still be reached through aliases
	depth   int
	within  int // aliases that are being followed
	untold  int
	lists   int     // long ones that were read
	unplain bool    // one is not plain after all
	tooBig  *tooBig // what exceeds the limits in a long list; nil: nothing

	paths   [maxDepth + 1]path // by depth; see below
	renamed []renamed          // items to add at the end

	given []*yaml.Node // fields of the messages that are being read; see message

	keepPaths bool
	itemPaths []string // of the items, if they are kept
}

// stopped reports that there are too many errors to continue.
func (d *decoder) stopped() bool { return d.untold > maxUnread }

func (d *decoder) at(n *yaml.Node) Position {
	return Position{File: d.file, Line: n.Line + d.line, Column: n.Column}
}

func (d *decoder) fail(n *yaml.Node, p *path, format string, args ...any) {
	if len(d.doc.Errs) == maxErrors {
		d.untold++
		return
	}
	d.doc.Errs = append(d.doc.Errs, &Error{Position: d.at(n), Field: shortened(p.String()), Key: d.key, Msg: shortened(fmt.Sprintf(format, args...))})
}

// shortened limits a part of an error that comes from the document.
func shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + fmt.Sprintf("... (%d bytes)", len(text))
}

// fits reports an error for a key that is too long to be the name of an item.
func (d *decoder) fits(n *yaml.Node, p *path, key string) bool {
	if len(key) > maxKey {
		d.key = ""
		d.fail(n, p, "the key of the item has %d bytes, expected at most %d", len(key), maxKey)
	}
	return len(key) <= maxKey
}

// path is the way to a value; it is written out only where an error names it.
type path struct {
	up    *path
	name  string
	index int // of an element, if name is empty
}

// String returns "vppConfig.interfaces[3].mtu".
func (p *path) String() string {
	switch {
	case p == nil:
		return ""
	case p.name == "":
		return fmt.Sprintf("%s[%d]", p.up, p.index)
	case p.up == nil:
		return p.name
	}
	return p.up.String() + "." + p.name
}

// root reads the top level of a text.
func (d *decoder) root(n *yaml.Node) {
	if isNull(n) {
		return
	}
	var names []string
	for _, g := range d.codec.groups {
		names = append(names, g.name)
	}
	d.mapping(n, nil, func(key, value *yaml.Node, p *path) {
		if key.Value == "data" {
			d.data(value, p)
			return
		}
		for _, g := range d.codec.groups {
			if g.name == key.Value || g.protoName == key.Value {
				d.group(g, value, p)
				return
			}
		}
		d.fail(key, p, "unknown field, expected data or one of %s%s", strings.Join(names, ", "),
			cmp.Or(d.codec.elsewhere(key.Value, ""), suggestion(key.Value, append(names, "data"))))
	})
}

// first reports whether no item above has the key; otherwise it adds an error.
func (d *decoder) first(n *yaml.Node, p *path, key string) bool {
	if line, twice := d.seen[key]; twice {
		d.key = key
		d.fail(n, p, "second value for key %s, the first is in line %d", key, line)
		d.key = ""
		return false
	}
	if d.seen != nil {
		d.seen[key] = d.at(n).Line
	}
	return true
}

// addPartial notes an item that has errors.
func (d *decoder) addPartial(n *yaml.Node, p *path, key string, value proto.Message) {
	if d.first(n, p, key) && d.codec.HiddenField(value) == "" {
		d.doc.Partial = append(d.doc.Partial, Item{Position: d.at(n), Key: key, Value: value})
	}
}

// add notes an item that was read without errors.
func (d *decoder) add(n *yaml.Node, p *path, key string, value proto.Message) {
	if d.first(n, p, key) {
		d.addValue(n, p, key, value)
	}
}

// addValue is add without the check for a second value.
func (d *decoder) addValue(n *yaml.Node, p *path, key string, value proto.Message) bool {
	if field := d.codec.HiddenField(value); field != "" {
		restored, ok := value, false
		if d.codec.restore != nil {
			restored, ok = d.codec.restore(key, value)
		}
		if !ok {
			d.key = key
			d.fail(n, &path{up: p, name: field}, "%s", HiddenText)
			d.key = ""
			return false
		}
		value = restored
	}
	d.doc.Items = append(d.doc.Items, Item{Position: d.at(n), Key: key, Value: value})
	if d.keepPaths {
		d.itemPaths = append(d.itemPaths, p.String())
	}
	return true
}

package document

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// data reads the list of keys with values.
func (d *decoder) data(n *yaml.Node, p *path) {
	if isNull(n) {
		return
	}
	d.items(n, p, func(d *decoder, e *yaml.Node, p *path) {
		d.datum(e, p)
		d.key = ""
	})
}

func (d *decoder) datum(n *yaml.Node, p *path) {
	var key, value *yaml.Node
	good := true
	ok := d.mapping(n, p, func(k, v *yaml.Node, p *path) {
		switch k.Value {
		case "key":
			key = v
		case "value":
			value = v
		default:
			d.fail(k, p, "unknown field, expected key and value%s", suggestion(k.Value, []string{"key", "value"}))
			good = false
		}
	})
	if !ok || !good {
		return
	}
	if key == nil || key.Kind != yaml.ScalarNode || key.Tag != "!!str" {
		d.fail(n, &path{up: p, name: "key"}, "expected a key such as config/vpp/v2/interfaces/<name>")
		return
	}
	short, own := d.short(key.Value)
	if !own {
		d.doc.Foreign++
		return
	}
	if !d.fits(key, &path{up: p, name: "key"}, short) {
		return
	}
	d.key = short
	model, known := d.codec.set.ForStoredKey(short)
	switch {
	case !known:
		d.fail(key, &path{up: p, name: "key"}, "no model has the key %s%s", key.Value, d.codec.nearestModel(short))
	case value == nil || isNull(value):
		d.fail(n, &path{up: p, name: "value"}, "expected a value of type %s", model.ProtoName())
	default:
		d.keyed(n, key, value, p, model)
	}
}

// short is the key without the label of the agent.
func (d *decoder) short(key string) (short string, own bool) {
	if !strings.HasPrefix(key, allAgents) {
		return key, true
	}
	if d.prefix != "" {
		return strings.CutPrefix(key, d.prefix)
	}
	_, short, own = strings.Cut(key[len(allAgents):], "/")
	return short, own
}

// keyed reads the value of a key.
func (d *decoder) keyed(n, key, value *yaml.Node, p *path, model models.Known) {
	at := &path{up: p, name: "value"}
	msg := model.NewInstance()
	read := func(v *yaml.Node) bool {
		return d.message(v, at, d.codec.plans[string(model.ProtoName())], msg.ProtoReflect())
	}
	if value.Kind == yaml.ScalarNode && value.Tag == "!!str" {
		if !d.embedded(value, at, read) {
			return
		}
	} else if !read(value) {
		if real, err := model.KeyOf(msg); err == nil && real == d.key {
			d.addPartial(n, p, real, msg)
			d.key = ""
		}
		return
	}
	real, err := model.KeyOf(msg)
	switch {
	case err != nil:
		d.fail(n, at, "%v", err)
	case !d.fits(n, at, real):
	case !model.Matches(real):
		d.fail(key, &path{up: p, name: "key"}, "expected a name behind %s", model.KeyPrefix())
	case real != d.key:
		d.addRenamed(n, key, p, real, msg)
	default:
		d.add(n, p, real, msg)
	}
}

// renamed is an item whose key in the text differs from the key of its value.
type renamed struct {
	node, key *yaml.Node
	path      string
	written   string
	real      string
	value     proto.Message
	line      int // see decoder
}

// addRenamed notes an item for addRest.
func (d *decoder) addRenamed(n, key *yaml.Node, p *path, real string, value proto.Message) {
	if d.first(n, p, d.key) {
		d.renamed = append(d.renamed, renamed{n, key, p.String(), d.key, real, value, d.line})
	}
}

// addRest adds the items whose keys differ from the keys of their values, under the keys of the values. An
// item that the text also has under the right key must be the same.
func (d *decoder) addRest() {
	values := map[string]proto.Message{}
	if len(d.renamed) > 0 {
		for _, it := range d.doc.Items {
			values[it.Key] = it.Value
		}
	}
	for _, r := range d.renamed {
		d.line, d.key = r.line, r.written
		at := &path{name: r.path}
		other, twice := values[r.real]
		switch {
		case twice && !proto.Equal(other, r.value):
			d.fail(r.key, &path{up: at, name: "key"}, "its value has the key %s, for which the text has another value; remove one of the two", r.real)
		case !twice:
			values[r.real] = r.value
			d.key = ""
			if before := len(d.doc.Items); d.addValue(r.node, at, r.real, r.value) {
				d.doc.Items[before].Written = r.written
			}
		}
		d.line, d.key = 0, ""
	}
}

// embedded reads a value that is written as text in JSON.
func (d *decoder) embedded(n *yaml.Node, p *path, read func(*yaml.Node) bool) bool {
	inner, _, big, ok := parsePlainJSON(n.Value, len(n.Value))
	var err *jsonError
	if big != nil {
		d.fail(n, p, "%s", big.what)
		return false
	}
	if !ok {
		inner, err = parseJSON([]byte(n.Value))
	}
	before := d.line
	defer func() { d.line = before }()
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		d.line += n.Line // the text begins in the line below
	} else {
		d.line += n.Line - 1
	}
	if err != nil {
		pos := locate(d.file, []byte(n.Value), err.offset)
		d.fail(&yaml.Node{Line: pos.Line, Column: pos.Column}, p, "expected a mapping or the same as text in JSON: %s", err.msg)
		return false
	}
	return read(inner)
}

// nearestModel suggests what the beginning of a key was meant to be.
func (c *Codec) nearestModel(key string) string {
	if prefix := c.SuggestPrefix(key); prefix != "" {
		return "; did you mean " + prefix + "?"
	}
	return ""
}

// nearestPrefix is the prefix of keys that is most like the beginning of a key;
// empty if none is similar.
func (c *Codec) nearestPrefix(key string) string {
	var prefixes []string
	for _, m := range c.set.All() {
		prefixes = append(prefixes, m.KeyPrefix())
	}
	best, distance := "", len(key)
	for _, prefix := range prefixes {
		if dist := suggest.Distance(key[:min(len(key), len(prefix))], prefix); dist < distance {
			best, distance = prefix, dist
		}
	}
	if distance > 1+len(best)/5 {
		return ""
	}
	return best
}

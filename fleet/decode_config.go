package fleet

import (
	"math"
	"strings"

	"github.com/tenuto-dev/tenuto/fleet/internal/span"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

func (d *decoder) networkConfig(t *document.Tree, path string, c *NetworkConfigSpec) {
	d.fields(t, path,
		field{"selector", true, func(t *document.Tree, path string) { d.selector(t, path, &c.Selector) }},
		field{"priority", false, d.number(&c.Priority, math.MinInt32, math.MaxInt32)},
		field{"variables", false, func(t *document.Tree, path string) { c.Variables = d.variables(t, path) }},
		field{"forEach", false, func(t *document.Tree, path string) {
			c.ForEach = &ForEach{}
			d.forEach(t, path, c.ForEach)
		}},
		field{"template", true, func(t *document.Tree, path string) {
			if c.Template = t; t.Kind != document.Mapping || len(t.Fields) == 0 {
				d.fail(t.Position, path, "expected a configuration as in network.yaml, got %s", described(t))
			}
		}})
}

func (d *decoder) forEach(t *document.Tree, path string, f *ForEach) {
	d.fields(t, path, field{"peers", true, func(t *document.Tree, path string) { d.selector(t, path, &f.Peers) }})
}

// RepeatedElement reads an element of a list in a template that stands for several: one for each peer. ok is false if it
// is an element as any other. Each error is a *document.Error, with a path that begins with path.
func RepeatedElement(t *document.Tree, path string) (f ForEach, value *document.Tree, ok bool, errs []error) {
	if t.Kind != document.Mapping || t.Field("forEach") == nil {
		return f, nil, false, nil
	}
	d := &decoder{}
	d.fields(t, path, field{"forEach", true, func(t *document.Tree, path string) { d.forEach(t, path, &f) }},
		field{"value", true, func(t *document.Tree, _ string) { value = t }})
	return f, value, true, d.errs
}

// described is Describe, but also says that an object is empty.
func described(t *document.Tree) string {
	if t.Kind == document.Mapping && len(t.Fields) == 0 {
		return "an empty object"
	}
	return Describe(t.Value())
}

func (d *decoder) selector(t *document.Tree, path string, s *Selector) {
	d.fields(t, path,
		field{"matchLabels", false, func(t *document.Tree, path string) { s.MatchLabels = d.labels(t, path) }},
		field{"matchExpressions", false, func(t *document.Tree, path string) {
			d.list(t, path, func(t *document.Tree, path string) {
				before := len(d.errs)
				var r Requirement
				var operator string
				d.fields(t, path, field{"key", true, d.text(&r.Key)}, field{"operator", true, d.text(&operator)}, field{"values", false, d.texts(&r.Values)})
				r.Operator = Operator(operator)
				if field, err := r.check(); err != nil && len(d.errs) == before {
					d.fail(t.Find(field).Position, join(path, field), "%v", err)
				}
				s.MatchExpressions = append(s.MatchExpressions, r)
			})
		}})
}

// reserved are characters that the path of a reference cannot have.
const reserved = ".[]{}\"$ \t\n"

func (d *decoder) variables(t *document.Tree, path string) map[string]Variable {
	if t.Kind != document.Mapping {
		d.fail(t.Position, path, "expected an object, got %s", Describe(t.Value()))
		return nil
	}
	all := map[string]Variable{}
	for _, f := range t.Fields {
		at := join(path, f.Name)
		if f.Name == "" || strings.ContainsAny(f.Name, reserved) {
			d.fail(f.Position, path, "%q: expected a name without dots, brackets and spaces", f.Name)
			continue
		}
		var v Variable
		if f.Value.Kind != document.Null {
			d.variable(f.Value, at, &v)
		}
		all[f.Name] = v
	}
	return all
}

func (d *decoder) variable(t *document.Tree, path string, v *Variable) {
	d.fields(t, path,
		field{"type", false, oneOf(d, &v.Type, VariableTypes())},
		field{"default", false, func(t *document.Tree, _ string) { v.Default = valueOf(t) }},
		field{"pool", false, d.text(&v.Pool)},
		field{"description", false, d.text(&v.Description)})
	if v.Default == nil {
		return
	}
	at := t.Find("default")
	if v.Pool != "" {
		d.fail(at.Position, join(path, "default"), "excludes pool: expected only one of them")
	}
	value, err := v.Type.Normalize(v.Default)
	if d.check(at, join(path, "default"), err); err == nil {
		v.Default = value
	}
}

// pool reads a pool and returns its values; nil if they are invalid.
func (d *decoder) pool(t *document.Tree, path string, p *PoolSpec) *span.Set {
	before := len(d.errs)
	const longest = 128
	d.fields(t, path,
		field{"type", true, oneOf(d, &p.Type, PoolTypes())},
		field{"ranges", true, d.ranges(&p.Ranges)},
		field{"prefixLength", false, d.number(&p.PrefixLength, 1, longest)},
		field{"exclude", false, d.ranges(&p.Exclude)})
	if len(d.errs) > before {
		return nil
	}
	switch {
	case p.Type == PoolPrefix && p.PrefixLength == 0:
		d.fail(t.Position, join(path, "prefixLength"), "missing; pools of type prefix need it")
	case p.Type != PoolPrefix && p.PrefixLength != 0:
		d.fail(t.Find("prefixLength").Position, join(path, "prefixLength"), "only pools of type prefix have it, this one has the type %s", p.Type)
	case len(p.Ranges) == 0:
		d.fail(t.Find("ranges").Position, join(path, "ranges"), "empty, expected at least one range")
	default:
		return d.poolSet(t, path, p)
	}
	return nil
}

// ranges reads a list of strings, and of numbers without quotes.
func (d *decoder) ranges(to *[]string) func(t *document.Tree, path string) {
	return func(t *document.Tree, path string) {
		d.list(t, path, func(t *document.Tree, path string) {
			text := t.Text
			if t.Kind != document.Integer {
				d.text(&text)(t, path)
			}
			*to = append(*to, text)
		})
	}
}

func (d *decoder) poolSet(t *document.Tree, path string, p *PoolSpec) *span.Set {
	set, problems := span.New(string(p.Type), p.Ranges, p.Exclude, p.PrefixLength)
	for _, problem := range problems {
		d.fail(t.Find(problem.Field).Position, join(path, problem.Field), "%v", problem.Err)
	}
	if len(problems) == 0 && set.Size().Sign() == 0 {
		d.fail(t.Find("ranges").Position, join(path, "ranges"), "all values are excluded")
	}
	return set
}

// checkPools reports pools of one type that could give the same value. It ignores pools of numbers: VLAN IDs and
// VNIs, for example, may be equal.
func (d *decoder) checkPools() {
	for i, a := range d.sets {
		for j, b := range d.sets[:i] {
			one, other := &d.objects.Pools[i], &d.objects.Pools[j]
			if a == nil || b == nil || one.Spec.Type != other.Spec.Type || one.Spec.Type == PoolInteger {
				continue
			}
			if text, both := a.Common(b); both {
				d.fail(one.Metadata.Source, "spec.ranges", "pools %s and %s overlap: both have %s, the other one is in %s; exclude it in one of them",
					one.Metadata.Name, other.Metadata.Name, text, other.Metadata.Source)
			}
		}
	}
}

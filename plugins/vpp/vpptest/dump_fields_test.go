package vpptest_test

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
)

// Nothing is equal that differs: each field of each record that VPP lists of an item is changed,
// and each item that reads the record then reads back in another way: with another value in a field
// of its model, or as one that has what its model lacks. stateFields are the exceptions.
func TestDumpFields(t *testing.T) {
	var mu sync.Mutex
	noticed := map[string]bool{} // by item and field
	t.Run("items", func(t *testing.T) {
		for _, i := range items(t) {
			if i.Without["Retrieve"] != "" {
				continue
			}
			t.Run(i.Name, func(t *testing.T) {
				t.Parallel()
				fields := dumpedFields(t, i)
				mu.Lock()
				defer mu.Unlock()
				for field, has := range fields {
					noticed[i.Name+": "+field] = has
				}
			})
		}
	})
	used := map[string]bool{}
	for _, field := range slices.Sorted(maps.Keys(noticed)) {
		reason := slices.IndexFunc(stateFields, func(s stateField) bool { return s.matches(field) })
		switch {
		case reason >= 0:
			used[stateFields[reason].items+stateFields[reason].fields] = true
		case !noticed[field]:
			t.Errorf("a change is not noticed by %s", field)
		}
	}
	for _, s := range stateFields {
		if *release == "" && *oneItem == "" && !used[s.items+s.fields] {
			t.Errorf("stateFields has %q of %q, but there is no such field", s.fields, s.items)
		}
	}
}

// stateField are fields, by a regular expression, that are no configuration of the item, and why.
// With items it is about these only, by another regular expression: another item notices the fields.
type stateField struct{ fields, reason, items string }

func (s stateField) matches(itemAndField string) bool {
	return regexp.MustCompile("^(" + cmp.Or(s.items, ".*") + "): (" + s.fields + ")$").MatchString(itemAndField)
}

// dumpedFields changes the fields of the records of an item one after the other, and returns for
// each whether the item reads back in another way.
func dumpedFields(t *testing.T, i catalogue.Item) map[string]bool {
	l := newLife(t, i, vpptest.Simulator(t, simOptions()))
	l.b.Must(l.needed)
	before := l.records()
	l.b.Must(l.item)
	l.configured()
	was := l.b.Dump(l.descriptor())
	for key, v := range l.b.Dump(l.descriptor()) {
		if !proto.Equal(v, was[key]) {
			t.Fatalf("%s is read as %v, then as %v", key, was[key], v)
		}
	}
	fields := map[string]bool{}
	for _, r := range l.records() {
		if slices.ContainsFunc(before, func(b record) bool { return b.same(r) }) {
			continue
		}
		for _, c := range changesOf(r.details) {
			field := r.details.GetMessageName() + "." + c.field
			if fields[field] {
				continue
			}
			l.target.Sim.Alter(func(details api.Message) {
				if recordOf(details).same(r) {
					c.apply(reflect.ValueOf(details).Elem())
				}
			})
			all, err := l.b.Scheduler.DumpValuesByDescriptor(l.descriptor(), kvs.SBView)
			fields[field] = err != nil || len(all) != len(was) ||
				slices.ContainsFunc(all, func(kv kvs.KVWithMetadata) bool { return !proto.Equal(kv.Value, was[kv.Key]) })
		}
	}
	l.target.Sim.Alter(nil)
	l.b.Stop()
	return fields
}

// record is a record of a dump.
type record struct {
	details api.Message
	body    string
}

func (r record) same(o record) bool {
	return r.body == o.body && r.details.GetMessageName() == o.details.GetMessageName()
}

// recordOf does not look at times.
func recordOf(details api.Message) record {
	copied := reflect.New(reflect.TypeOf(details).Elem())
	copied.Elem().Set(reflect.ValueOf(details).Elem())
	for _, name := range []string{"Age"} {
		if f := copied.Elem().FieldByName(name); f.IsValid() {
			f.SetZero()
		}
	}
	body, err := copied.Interface().(interface {
		Marshal([]byte) ([]byte, error)
	}).Marshal(nil)
	if err != nil {
		panic(err)
	}
	return record{details, string(body)}
}

// records returns the records that VPP lists each time the item's descriptor reads: the agent reads
// records that are listed only once in the background.
func (l *life) records() []record {
	l.t.Helper()
	again := l.listed()
	return slices.DeleteFunc(l.listed(), func(r record) bool {
		return !slices.ContainsFunc(again, func(b record) bool { return b.same(r) })
	})
}

// listed returns what VPP lists while the item's descriptor reads.
func (l *life) listed() (all []record) {
	l.t.Helper()
	var mu sync.Mutex
	l.target.Sim.Alter(func(details api.Message) {
		mu.Lock()
		defer mu.Unlock()
		r := recordOf(details)
		if !slices.ContainsFunc(all, func(b record) bool { return b.same(r) }) {
			all = append(all, r)
		}
	})
	l.b.Dump(l.descriptor())
	l.target.Sim.Alter(nil)
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(all)
}

// fieldChange gives a field of a message another value.
type fieldChange struct {
	field string
	apply func(message reflect.Value)
}

func changesOf(m api.Message) []fieldChange {
	return changesIn("", reflect.ValueOf(m).Elem(), func(message reflect.Value) reflect.Value { return message })
}

// changesIn returns changes of v, which at finds in a message.
func changesIn(path string, v reflect.Value, at func(reflect.Value) reflect.Value) (all []fieldChange) {
	leaf := func(name string, change func(reflect.Value)) {
		all = append(all, fieldChange{name, func(message reflect.Value) { change(at(message)) }})
	}
	switch v.Kind() {
	case reflect.Struct:
		for n := range v.NumField() {
			f := v.Type().Field(n)
			if f.Tag.Get("json") == "-" { // the length of another field
				continue
			}
			name := path
			if !f.Anonymous {
				name = strings.TrimPrefix(path+"."+apiName(f), ".")
			}
			all = append(all, changesIn(name, v.Field(n), func(m reflect.Value) reflect.Value {
				return at(m).Field(n)
			})...)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.Len() > 0 {
				leaf(path, func(v reflect.Value) { v.Index(0).SetUint(v.Index(0).Uint() ^ 1) })
			}
			break
		}
		for n := range v.Len() {
			all = append(all, changesIn(fmt.Sprintf("%s[%d]", path, n), v.Index(n), func(m reflect.Value) reflect.Value { return at(m).Index(n) })...)
		}
	case reflect.Bool:
		leaf(path, func(v reflect.Value) { v.SetBool(!v.Bool()) })
	case reflect.String:
		leaf(path, func(v reflect.Value) { v.SetString("other") })
	case reflect.Float64:
		leaf(path, func(v reflect.Value) { v.SetFloat(v.Float() + 1) })
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		leaf(path, func(v reflect.Value) { v.SetInt(v.Int() ^ 1) })
	default:
		if !strings.HasSuffix(v.Type().Name(), "Flags") {
			for bit := range 2 { // VPP may have one default that is written in two ways
				leaf(path, func(v reflect.Value) { v.SetUint(v.Uint() ^ 1<<bit) })
			}
			break
		}
		for bit := range v.Type().Bits() {
			flag := reflect.New(v.Type()).Elem()
			flag.SetUint(1 << bit)
			if name := fmt.Sprint(flag); strings.Contains(name, "_") { // otherwise the API has no such flag
				leaf(path+" "+name, func(v reflect.Value) { v.SetUint(v.Uint() ^ 1<<bit) })
			}
		}
	}
	return all
}

// apiName is the name of a field in the API of VPP.
func apiName(f reflect.StructField) string {
	for _, part := range strings.Split(f.Tag.Get("binapi"), ",") {
		if name, ok := strings.CutPrefix(part, "name="); ok {
			return name
		}
	}
	return f.Name
}

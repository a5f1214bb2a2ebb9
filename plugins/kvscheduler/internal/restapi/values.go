package restapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/render"
)

func (s *server) dump(r *http.Request, args arguments) (answer, error) {
	by, err := s.dumpBy(args)
	if err != nil {
		return nil, err
	}
	view := api.SBView
	if args.has("view") {
		if view, err = api.ParseView(args.text("view")); err != nil {
			return nil, badRequest(fmt.Errorf("argument %w", err))
		}
	}
	if by == "" {
		return asJSON(s.dumpIndex()), nil
	}
	find := s.descriptor
	if by == "key-prefix" {
		find = s.descriptorOfPrefix
	}
	d, err := find(args.text(by))
	if err != nil {
		return nil, err
	}
	if view == api.SBView && !d.Retrieves() {
		return nil, badRequest(fmt.Errorf("argument %q is %q: descriptor %s cannot read the southbound; expected NB or cached", "view", view, d.Name))
	}
	kvs, err := s.Scheduler.DumpValuesByDescriptor(d.Name, view)
	if err != nil {
		return nil, err
	}
	list := make([]response.DumpedValue, len(kvs))
	for i, kv := range kvs {
		value, err1 := api.JSONValue{Message: shown(r, kv.Value)}.Encode()
		metadata, err2 := json.Marshal(kv.Metadata)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("value %s: %w", kv.Key, err)
		}
		list[i] = response.DumpedValue{Key: kv.Key, Value: value, Origin: kv.Origin, Metadata: metadata}
	}
	return asJSON(list), nil
}

// dumpBy returns the name of the argument that selects the values; empty if none does.
// Both arguments may be given if they mean the same.
func (s *server) dumpBy(args arguments) (string, error) {
	by, err := args.onlyOne("descriptor", "key-prefix")
	if err == nil {
		return by, nil
	}
	d, unknown := s.descriptor(args.text("descriptor"))
	if unknown != nil || d.NBKeyPrefix != args.text("key-prefix") {
		return "", err
	}
	return "descriptor", nil
}

// shown is the value as the request may see it.
func shown(r *http.Request, m proto.Message) proto.Message {
	if rest.ShowSecrets(r) {
		return m
	}
	m, _ = logging.HideSecrets(m)
	return m
}

func (s *server) dumpIndex() response.DumpIndex {
	index := response.DumpIndex{
		Descriptors: []string{}, KeyPrefixes: []string{},
		Views: []string{string(api.SBView), string(api.NBView), string(api.CachedView)},
	}
	for _, d := range s.Scheduler.ListDescriptors() {
		index.Descriptors = append(index.Descriptors, d.Name)
		if d.NBKeyPrefix != "" { // of derived values
			index.KeyPrefixes = append(index.KeyPrefixes, d.NBKeyPrefix)
		}
	}
	return index
}

func (s *server) descriptor(name string) (*api.KVDescriptor, error) {
	for _, d := range s.Scheduler.ListDescriptors() {
		if d.Name == name {
			return d, nil
		}
	}
	return nil, notFound(fmt.Errorf("argument %q is %q: no such descriptor; /scheduler/dump lists them", "descriptor", name))
}

func (s *server) descriptorOfPrefix(prefix string) (*api.KVDescriptor, error) {
	for _, d := range s.Scheduler.ListDescriptors() {
		if d.NBKeyPrefix == prefix {
			return d, nil
		}
	}
	return nil, notFound(fmt.Errorf("argument %q is %q: no descriptor has this NB key prefix; /scheduler/dump lists them", "key-prefix", prefix))
}

// maxPage limits the values in a page.
const maxPage = 10_000

// page returns some of the values that a filter selects.
func (s *server) page(args arguments) (answer, error) {
	limit, _, err1 := args.number("limit")
	filter, _, err2 := args.filter("key-prefix")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	for _, name := range []string{"key", "times"} {
		if args.has(name) {
			return nil, badRequest(fmt.Errorf(`arguments %q and "limit": expected only one of them`, name))
		}
	}
	if limit == 0 || limit > maxPage {
		return nil, badRequest(fmt.Errorf("argument %q is %d: expected 1 to %d", "limit", limit, maxPage))
	}
	list := []response.ListedStatus{}
	for _, v := range s.Scheduler.ListValues(api.ValuePage{ValueFilter: filter, After: args.text("after"), Limit: int(limit)}) {
		list = append(list, response.ListedStatus{Value: v.Status, Reason: api.Reason(v.Status), Descriptor: v.Descriptor, Base: v.Base, Owner: v.Owner, Since: v.Since})
	}
	return asJSON(list), nil
}

func (s *server) status(_ *http.Request, args arguments) (answer, error) {
	if args.has("limit") {
		return s.page(args)
	}
	for _, name := range []string{"after", "contains", "state"} {
		if args.has(name) {
			return nil, badRequest(fmt.Errorf(`argument "limit" is missing: %q is about a page of values`, name))
		}
	}
	if len(args.list("descriptor")) > 1 {
		return nil, badRequest(errors.New(`argument "descriptor": expected once, unless "limit" is given`))
	}
	by, err := args.onlyOne("key", "key-prefix", "descriptor")
	if err != nil {
		return nil, err
	}
	var list []*api.BaseValueStatus
	switch by {
	case "key":
		key, err := args.required("key", "the key of a value")
		if err != nil {
			return nil, err
		}
		return asJSON(s.Scheduler.GetValueStatus(key)), nil
	case "descriptor":
		d, err := s.descriptor(args.text("descriptor"))
		if err != nil {
			return nil, err
		}
		list = statusOfDescriptor(s.Scheduler.ListValueStatus(""), d)
	default:
		list = s.Scheduler.ListValueStatus(args.text("key-prefix"))
	}
	if list == nil {
		list = []*api.BaseValueStatus{}
	}
	if !args.has("times") {
		return asJSON(list), nil
	}
	times, timed := s.Scheduler.ValueTimes(), make([]response.TimedStatus, len(list))
	for i, v := range list {
		timed[i] = response.TimedStatus{Value: v.GetValue(), DerivedValues: v.GetDerivedValues(), Since: times[v.GetValue().GetKey()]}
	}
	return asJSON(timed), nil
}

// statusOfDescriptor picks the base values of a descriptor and the derived
// values that it describes.
func statusOfDescriptor(all []*api.BaseValueStatus, d *api.KVDescriptor) []*api.BaseValueStatus {
	var list []*api.BaseValueStatus
	for _, status := range all {
		if d.KeySelector(status.GetValue().GetKey()) {
			list = append(list, status)
			continue
		}
		for _, derived := range status.GetDerivedValues() {
			if d.KeySelector(derived.GetKey()) {
				list = append(list, &api.BaseValueStatus{Value: derived})
			}
		}
	}
	return list
}

func (s *server) why(_ *http.Request, args arguments) (answer, error) {
	key, err1 := args.required("key", "the key of a value")
	format, err2 := args.oneOf("format", "json", "text")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	e := s.Scheduler.Explain(key)
	if e == nil {
		return nil, notFound(fmt.Errorf("argument %q is %q: no such value", "key", key))
	}
	if format == "json" {
		return asJSON(e), nil
	}
	return stream(plainText, func(w io.Writer) error { return render.Tree(w, e, s.Now()) }), nil
}

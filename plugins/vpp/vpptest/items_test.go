package vpptest_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/tenuto-dev/tenuto/infra/logging"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
)

// Every item of the catalogue is declared completely: what it lacks has a reason. Every
// model that has a descriptor, and every operation of VPP, has an item.
func TestCatalogueIsComplete(t *testing.T) {
	t.Parallel()
	names, models, capabilities := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, i := range catalogue.All() {
		for _, problem := range i.Lacks() {
			t.Error(problem)
		}
		if names[i.Name] || capabilities[i.Capability] {
			t.Errorf("%s is listed twice, or its capability %q is", i.Name, i.Capability)
		}
		names[i.Name], models[i.Model()], capabilities[i.Capability] = true, true, true
		exemplar := i.Make().ProtoReflect()
		if secrets := secretsOf(exemplar); i.Part == "" && len(secrets) < secretFields(exemplar) {
			t.Errorf("%s: %d secrets, but its message has %d fields for them", i.Name, len(secrets), secretFields(exemplar))
		}
	}
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	prefixes := map[string]bool{"": true} // derived values have none
	for _, m := range set.All() {
		prefixes[m.KeyPrefix()] = models[m.Spec().ModelName()]
	}
	for _, d := range b.Scheduler.ListDescriptors() {
		if d.Southbound == item.Southbound && !prefixes[d.NBKeyPrefix] {
			t.Errorf("descriptor %s: no item of its model", d.Name)
		}
	}
	page, err := os.ReadFile("../../../docs/reference/vpp-releases.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.Mux.Capabilities() {
		if !capabilities[c.Item] {
			t.Errorf("%s: no item needs it", c.Item)
		}
		if !bytes.Contains(page, []byte(c.Item)) {
			t.Errorf("%s: is not in docs/reference/vpp-releases.md", c.Item)
		}
	}
}

// Items are created, found again, changed, and deleted; nothing of them stays in VPP, and
// secrets are not shown.
func TestItems(t *testing.T) {
	t.Run("simulator", func(t *testing.T) {
		t.Parallel()
		for _, i := range items(t) {
			t.Run(i.Name, func(t *testing.T) {
				t.Parallel()
				newLife(t, i, vpptest.Simulator(t, simOptions())).live()
			})
		}
	})
	t.Run("real", func(t *testing.T) {
		target := vpptest.Real(t)
		for _, i := range items(t) {
			t.Run(i.Name, func(t *testing.T) {
				if !i.Real() {
					t.Skip("NOT CHECKED AGAINST A REAL VPP: ", i.Without["Real"])
				}
				newLife(t, i, target).live()
			})
		}
	})
}

// life is the life of an item in a VPP.
type life struct {
	catalogue.Item
	t       *testing.T
	target  vpptest.Target
	b       *vpptest.Harness
	printed bytes.Buffer

	item   values // the exemplar
	needed values
	key    string // of the item
}

func newLife(t *testing.T, i catalogue.Item, target vpptest.Target) *life {
	l := &life{Item: i, t: t, target: target, item: catalogue.Values(i.Make()), needed: i.Needed(), key: catalogue.Key(i.Make())}
	l.start()
	return l
}

func (l *life) start() {
	l.b = vpptest.Start(l.t, l.target, vpptest.Summaries(&l.printed))
	announceHosts(l.t, l.b)
}

// announceHosts notifies the agent of the interfaces of the kernel, and makes the network namespaces
// that a real VPP needs.
func announceHosts(t *testing.T, b *vpptest.Harness) {
	t.Helper()
	for _, name := range catalogue.HostInterfaces() {
		b.SetHostInterface(name, true)
	}
	if b.Real == nil {
		return
	}
	for _, name := range catalogue.Namespaces() {
		if _, err := os.Stat("/run/netns/" + name); err == nil {
			continue
		}
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Fatalf("ip netns add %s: %v: %s", name, err, out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	}
}

// all is the exemplar with what it needs.
func (l *life) all() values {
	all := maps.Clone(l.needed)
	maps.Copy(all, l.item)
	return all
}

// state is what the simulator has; nothing is known of a real VPP.
func (l *life) state() []string {
	if l.target.Sim == nil {
		return nil
	}
	return vpptest.Canonical(l.target.Sim.Dump())
}

// is fails the test unless the simulator has what it had.
func (l *life) is(when string, want []string) {
	l.t.Helper()
	if diff := vpptest.Difference(l.state(), want); diff != "" {
		l.t.Errorf("%s the simulator differs:\n%s", when, diff)
	}
}

func (l *life) live() {
	empty := l.state()
	if len(l.needed) > 0 {
		l.b.Must(l.item)
		l.pending("without what it needs")
		l.b.Must(deleted(l.item))
		l.b.Must(l.needed)
	}
	before := l.state()
	l.b.Must(l.item)
	l.settled("created", l.Make())
	l.waits()
	l.changes()
	l.restart()
	l.byHand()
	l.hidesSecrets()
	l.b.Must(deleted(l.item))
	if got := l.read(); got != nil {
		l.t.Errorf("deleted, but read back %v", got)
	}
	l.is("after the item is deleted", before)
	l.b.Must(deleted(l.needed))
	l.is("after everything is deleted", empty)
	l.b.InSync()
	l.b.Stop()
}

// descriptor is the name of the item's descriptor.
func (l *life) descriptor() string {
	for _, d := range l.b.Scheduler.ListDescriptors() {
		if d.NBKeyPrefix != "" && d.KeySelector(l.key) {
			return d.Name
		}
	}
	l.t.Fatalf("no descriptor of %s", l.key)
	return ""
}

// read reads the item back; nil if VPP does not have it, or does not report.
func (l *life) read() proto.Message {
	l.t.Helper()
	if l.Without["Retrieve"] != "" {
		return nil
	}
	return l.b.Dump(l.descriptor())[l.key]
}

// settled fails the test unless the item is configured, reads back as it is wanted, and
// needs no other operation.
func (l *life) settled(when string, m proto.Message) {
	l.t.Helper()
	l.configured()
	got, want := l.read(), proto.Clone(m)
	if got == nil {
		if l.Without["Retrieve"] == "" {
			l.t.Fatalf("%s: not read back", when)
		}
		return
	}
	if l.Unread != nil {
		l.Unread(want, got)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		l.t.Errorf("%s: read back (-want +got):\n%s", when, diff)
	}
	l.b.InSync()
}

// waits takes away what the item needs, one after the other.
func (l *life) waits() {
	l.t.Helper()
	for key, need := range l.needed {
		l.b.Must(values{key: nil})
		l.pending("without " + key)
		if l.Part == "" && l.read() != nil {
			l.t.Errorf("without %s VPP still has it", key)
		}
		l.b.Must(values{key: need})
		l.settled("with "+key+" again", l.Make())
	}
}

// pending fails the test unless the value waits, or the item that it is a part of.
func (l *life) pending(when string) {
	l.t.Helper()
	part, item := l.b.State(l.Item.Key()), l.b.State(l.key)
	if part != pending && item != pending {
		l.t.Errorf("%s it is %s, the item is %s, expected one of them to be %s", when, part, item, pending)
	}
}

// changes spells the exemplar in other ways, updates and recreates it.
func (l *life) changes() {
	l.t.Helper()
	for _, c := range l.Spellings {
		spelled := l.Changed(c)
		if proto.Equal(spelled, l.Make()) {
			l.t.Errorf("a spelling is the exemplar: %v", spelled)
		}
		if ops := l.b.Change(values{l.key: spelled}); len(ops) > 0 {
			l.t.Errorf("another spelling, %v, takes %q", spelled, ops)
		}
		l.b.InSync()
	}
	updates := len(l.Updates)
	if l.UpdateNeeds != nil && !l.b.Mux.Conn().Has(l.UpdateNeeds) {
		updates = 0
	}
	for n, c := range slices.Concat(l.Updates, l.Recreates) {
		changed := l.Changed(c)
		ops := l.b.Change(values{l.key: changed})
		again := slices.Contains(ops, "create "+l.key)
		if recreates := n >= updates; again != recreates || len(ops) == 0 {
			l.t.Errorf("the change to %v takes %q; created again: %t, expected %t", changed, ops, again, recreates)
		}
		if l.Part == "" {
			l.settled("changed", changed)
		}
		l.b.Must(l.item)
		l.settled("changed back", l.Make())
	}
}

// restart ends the agent: another one finds everything as it is.
func (l *life) restart() {
	l.t.Helper()
	l.b.Stop()
	l.start()
	var ops []string
	resync := func() { ops = l.b.FullResync(l.all()) }
	var writes []string
	if l.target.Sim == nil {
		resync()
	} else {
		writes = written(sent(l.target, resync))
	}
	if again := len(ops)+len(writes) > 0; again != (l.Without["Restart"] != "" || l.unlisted()) {
		l.t.Errorf("another agent sent %q to\n\t%s", writes, strings.Join(ops, "\n\t"))
	}
	l.settled("found again", l.Make())
}

// unlisted reports whether this release of VPP does not list the item.
func (l *life) unlisted() bool {
	return l.ListNeeds != nil && !l.b.Mux.Conn().Has(l.ListNeeds)
}

// byHand deletes the item with another client.
func (l *life) byHand() {
	l.t.Helper()
	if l.ByHand == nil || l.unlisted() {
		return
	}
	req, reply := l.ByHand(func(name string) uint32 { return numberOf(l.b, name) }, l.Make())
	if err := l.b.Mux.Conn().Call(l.t.Context(), req, reply); err != nil {
		l.t.Fatalf("delete by hand: %v", err)
	}
	if _, ok := l.Make().(*interfaces.Interface); ok {
		l.b.Await(l.key, missing) // VPP reports it
	} else {
		l.drifts()
	}
	if ops := l.b.Resync(); !slices.ContainsFunc(ops, func(op string) bool { return strings.HasSuffix(op, " "+l.Item.Key()) }) {
		l.t.Errorf("deleted by hand; a resync does %q", ops)
	}
	l.settled("deleted by hand and created again", l.Make())
}

// drifts fails the test unless the difference from VPP is found.
func (l *life) drifts() {
	l.t.Helper()
	report, err := l.b.Scheduler.DetectDrift(l.t.Context())
	if err != nil || len(report.Drifts) == 0 {
		l.t.Fatalf("deleted by hand, but the drift is %+v, %v", report, err)
	}
	text, err := json.Marshal(report.HideSecrets())
	if err != nil {
		l.t.Fatal(err)
	}
	l.printed.Write(text)
}

// hidesSecrets fails the test if the output has secrets of the exemplar.
func (l *life) hidesSecrets() {
	l.t.Helper()
	secrets := secretsOf(l.Make().ProtoReflect())
	if len(secrets) == 0 {
		return
	}
	for _, txn := range l.b.Scheduler.GetTransactionHistory(time.Time{}, time.Time{}) {
		text, err := json.Marshal(txn.HideSecrets())
		if err != nil {
			l.t.Fatal(err)
		}
		l.printed.Write(text)
	}
	for _, secret := range secrets {
		if strings.Contains(l.printed.String(), secret) {
			l.t.Errorf("the secret %q is shown", secret)
		}
	}
	if !strings.Contains(l.printed.String(), logging.Hidden) {
		l.t.Errorf("what is shown has no hidden secret:\n%s", l.printed.String())
	}
}

// secretsOf returns the texts that a message has in fields for secrets.
func secretsOf(m protoreflect.Message) (found []string) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() != nil && !f.IsList() && !f.IsMap():
			found = append(found, secretsOf(v.Message())...)
		case f.Kind() == protoreflect.StringKind && !f.IsList() && logging.IsSecret(f):
			found = append(found, v.String())
		}
		return true
	})
	return found
}

// secretFields counts the fields for secrets of a message, and of those in it, that are not
// deprecated.
func secretFields(m protoreflect.Message) (n int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch deprecated := f.Options().(interface{ GetDeprecated() bool }); {
		case deprecated.GetDeprecated():
		case f.Kind() == protoreflect.StringKind && logging.IsSecret(f):
			n++
		case f.Message() != nil && !f.IsList() && !f.IsMap() && m.Has(f):
			n += secretFields(m.Get(f).Message())
		}
	}
	return n
}

// Wrong values are INVALID, and the error names the field.
func TestRefusals(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	for _, name := range catalogue.HostInterfaces() {
		b.SetHostInterface(name, true)
	}
	for _, i := range items(t) {
		for want, c := range i.Refusals {
			m := i.Changed(c)
			err := b.Commit(catalogue.Values(m))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, expected %q", i.Name, err, want)
			}
			for _, secret := range secretsOf(m.ProtoReflect()) {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("%s: the error shows a secret: %v", i.Name, err)
				}
			}
			b.Want(states{catalogue.Key(m): invalid})
			b.Must(deleted(catalogue.Values(m)))
		}
	}
}

// The descriptors keep their promises for every spelling and change of the exemplars.
func TestContractOfItems(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	var samples []kvstest.Sample
	for _, i := range items(t) {
		if i.Part != "" {
			continue
		}
		all := []proto.Message{i.Make()}
		for _, c := range slices.Concat(i.Spellings, i.Recreates) {
			all = append(all, i.Changed(c))
		}
		for _, c := range i.Updates {
			// Asking for no MTU is content with any, which no equivalence can express.
			if m := i.Changed(c); !asksForMTU(m) {
				all = append(all, m)
			}
		}
		for _, m := range all {
			samples = append(samples, kvstest.Sample{Key: catalogue.Key(m), Value: m})
		}
	}
	kvstest.CheckSamples(t, samples, b.Scheduler.ListDescriptors()...)
}

func asksForMTU(m proto.Message) bool {
	i, ok := m.(*interfaces.Interface)
	return ok && i.Mtu > 0
}

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/drift"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// verifier reads back the effects of transactions. It belongs to the worker.
type verifier struct{ *shared }

// wantedBefore returns the reversal for a transaction that is to be reverted if its
// verification fails; otherwise nil. The reversal restores the previous desired state.
// For an invalid value that includes the value that stayed in force; it also restores
// values of the southbound.
func (v *verifier) wantedBefore(p *transaction) (back *reversal) {
	if !p.opts.Verify || !p.opts.Revert {
		return nil
	}
	back = &reversal{wants: map[string]*registry.Value{}}
	for _, kv := range p.values {
		pair := api.RecordedKVPair{Key: kv.Key, Origin: api.FromNB}
		switch n := v.state.graph.Node(kv.Key); {
		case n == nil || n.Want == nil && n.Have == nil:
		case n.IsDerived() || n.Want == nil || n.Want.Unwanted:
			continue
		default:
			pair.Value = n.Want.Msg
			back.wants[kv.Key] = n.Want
		}
		back.values = append(back.values, pair)
	}
	return back
}

// verified adds the values that failed verification to the error of a transaction.
func (e *Engine) verified(p *transaction, err error) error {
	back, res := p.before, p.result
	if !p.opts.Verify || res.Reverted {
		return err
	}
	wrong := e.verifier.verify(p, res)
	if len(wrong) == 0 {
		return err
	}
	keys := make([]string, len(wrong))
	for i, kv := range wrong {
		keys[i] = kv.Key
	}
	touch := e.state.withDerived(keys)
	e.southbound.readAgain(keys, e.southbound.closed())
	e.journal.keep(nil, nil) // values whose removal had no effect get their record back
	if !p.opts.Revert {
		e.verifier.unverified(wrong)
	}
	e.publish(keys)
	if p.opts.Revert {
		back.touch = e.state.withDerived(touch)
		back.opts = api.TxnOptions{Retry: p.opts.Retry, Description: "revert: " + wrong[0].Key + ": " + wrong[0].Error.Error()}
		if te := (*api.TransactionError)(nil); errors.As(e.process(entryOf(back)).err, &te) {
			for _, kv := range te.GetKVErrors() {
				kv.Reverting = true
				wrong = append(wrong, kv)
			}
		}
	}
	if te := (*api.TransactionError)(nil); errors.As(err, &te) {
		wrong = append(te.GetKVErrors(), wrong...)
	}
	return api.NewTransactionError(nil, wrong, p.opts.Revert)
}

// unverified sets the errors of existing values that failed verification.
func (v *verifier) unverified(wrong []api.KeyWithError) {
	v.state.mu.Lock()
	defer v.state.mu.Unlock()
	for _, kv := range wrong {
		if n := v.state.graph.Node(kv.Key); n != nil && n.Want != nil && n.Have != nil && n.Err == nil {
			n.Err, n.Retrying = kv.Error, false
		}
	}
}

// verify reads the values that the transaction contains or changed, and compares them
// with their desired state.
func (v *verifier) verify(p *transaction, res *exec.Result) (wrong []api.KeyWithError) {
	byDescriptor := map[*registry.Descriptor]map[string]*graph.Node{}
	add := func(key string) {
		n := v.state.graph.Node(key)
		if n == nil { // gone: the descriptor is found by the key
			d, _ := v.state.registry.Load().Lookup(key) // no descriptor, nothing to read
			n = &graph.Node{Key: key, Desc: d}
		}
		n = n.Root()
		if n.Desc == nil || n.Desc.Retrieve == nil || n.Err != nil || n.Obtained() || v.owners.noBusiness(n) {
			return
		}
		if byDescriptor[n.Desc] == nil {
			byDescriptor[n.Desc] = map[string]*graph.Node{}
		}
		byDescriptor[n.Desc][n.Key] = n
	}
	for _, kv := range p.values {
		add(kv.Key)
	}
	for i := range res.Executed {
		if op := &res.Executed[i]; !op.IsDerived {
			add(op.Key)
		}
	}
	closed := v.southbound.closed()
	for _, d := range v.state.registry.Load().RetrieveOrder {
		nodes := byDescriptor[d]
		for _, l := range res.Left {
			delete(nodes, l.Key)
		}
		if len(nodes) > 0 && !closed[d.Session()] {
			wrong = append(wrong, v.compare(d, nodes)...)
		}
	}
	slices.SortFunc(wrong, func(a, b api.KeyWithError) int { return strings.Compare(a.Key, b.Key) })
	return wrong
}

// compare reads a descriptor and compares some of its values.
func (v *verifier) compare(d *registry.Descriptor, nodes map[string]*graph.Node) (wrong []api.KeyWithError) {
	found := map[string]proto.Message{}
	kvs, err := v.southbound.refresher(nil).Descriptor(d)
	for _, kv := range kvs {
		found[kv.Key] = kv.Value
	}
	for key, n := range nodes {
		real, exists := found[key]
		problem := ""
		switch {
		case err != nil:
			problem = "retrieve: " + err.Error()
		case n.Have == nil && exists:
			problem = "the southbound still has the value"
		case n.Have != nil && !exists:
			problem = "the southbound does not have the value"
		case n.Have != nil && real == nil:
			problem = "the southbound has the value, but its content could not be read"
		case n.Have != nil && !d.Equivalent(key, real, n.Have.Msg):
			problem = "the southbound has another value: " + differences(drift.Differing(d, key, n.Have.Msg, real))
		default:
			continue
		}
		wrong = append(wrong, api.KeyWithError{
			Key: key, TxnOperation: kvscheduler.TxnOperation_VALIDATE, Error: fmt.Errorf("%w: %s", api.ErrNotVerified, problem),
		})
	}
	return wrong
}

// maxDifferences limits the fields that the error of one value names.
const maxDifferences = 5

// differences describes the fields that differ.
func differences(fields []api.FieldDiff) string {
	var parts []string
	for _, f := range fields[:min(len(fields), maxDifferences)] {
		parts = append(parts, fmt.Sprintf("%s is %s, expected %s", f.Field, orNone(f.Found), orNone(f.Believed)))
	}
	if n := len(fields) - maxDifferences; n > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(parts, "; ")
}

func orNone(text string) string {
	if text == "" {
		return "unset"
	}
	return text
}

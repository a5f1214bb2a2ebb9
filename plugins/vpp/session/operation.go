package session

import (
	"context"
	"errors"

	"go.fd.io/govpp/api"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
)

// Operations are what the items of a plugin need of VPP: each Operation that Declare or Require
// returned, in the order of reports.
type Operations []interface{ Capability() binding.Capability }

// Capabilities returns which messages the operations need, for reports and for
// govppmux.Plugin.Offer.
func (o Operations) Capabilities() []binding.Capability {
	all := make([]binding.Capability, len(o))
	for i, op := range o {
		all[i] = op.Capability()
	}
	return all
}

// Operation is something that VPP does for an item, in one of several variants. F is
// what a variant provides, usually a function. An Operation is declared once, as a
// variable of a package, and serves any number of connections concurrently.
type Operation[F any] struct {
	name     string
	needs    binding.Capability
	variants []binding.Variant[F]
}

// Capability returns which messages the operation needs. An operation of Step has none.
func (op *Operation[F]) Capability() binding.Capability { return op.needs }

// Declare declares an operation. The plugin lists it in its Operations. item is the type of
// item, as people call it ("interface TAP"); the name of a part of an item has the form
// "VRRP: unicast". plugin of VPP brings the messages; it is empty for those that every VPP
// has. The first variant whose messages VPP knows is used, so the newest comes first.
func Declare[F any](item, plugin string, variants ...binding.Variant[F]) *Operation[F] {
	c := binding.Capability{Item: item, Plugin: plugin}
	for _, v := range variants {
		c.NeedsOneOf = append(c.NeedsOneOf, v.Needs)
	}
	if plugin != "" {
		item += " (plugin " + plugin + " of VPP)"
	}
	return &Operation[F]{item, c, variants}
}

// Require declares an operation that has one variant, which needs the messages.
func Require(item, plugin string, msgs ...api.Message) *Operation[struct{}] {
	return Declare(item, plugin, Variant(struct{}{}, msgs...))
}

// Step declares a part of an operation that is no item of its own, such as its dump. It is
// not reported.
func Step[F any](name string, variants ...binding.Variant[F]) *Operation[F] {
	return &Operation[F]{name: name, variants: variants}
}

// Variant makes a variant of an operation from the messages it needs; nil pointers of the
// right types are enough.
func Variant[F any](do F, needs ...api.Message) binding.Variant[F] {
	return binding.Variant[F]{Needs: needs, Do: do}
}

// On returns the variant for the VPP that is connected. Without one the error is
// binding.ErrUnsupported, which makes values that need it UNIMPLEMENTED. The choice is made
// once for each session.
func (op *Operation[F]) On(v *VPP) (F, error) {
	c, err := perSession(v, op, func(s Session) chosen[F] {
		do, err := binding.Pick(s.Client, op.name, op.variants...)
		return chosen[F]{do, unimplemented(binding.InPlugin(s.Client, op.needs.Plugin, err, op.variants...))}
	})
	if err != nil {
		return c.do, err
	}
	return c.do, c.err
}

type chosen[F any] struct {
	do  F
	err error
}

// Check returns the error of On.
func (op *Operation[F]) Check(v *VPP) error {
	_, err := op.On(v)
	return err
}

// DumpOf is Dump for an operation: a VPP without it has no entries.
func DumpOf[D api.Message, F any](ctx context.Context, v *VPP, op *Operation[F], req api.Message) ([]D, error) {
	switch err := op.Check(v); {
	case errors.Is(err, binding.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return Dump[D](ctx, v, req)
}

// State is what calls remember of one session, such as numbers that are taken. It is
// declared once, as a variable of a package; each session of each VPP begins with a new one.
type State[T any] struct {
	begin func() *T
}

// NewState declares state that begin makes.
func NewState[T any](begin func() *T) *State[T] { return &State[T]{begin} }

// On returns the state of the current session. The caller synchronizes access to it.
func (st *State[T]) On(v *VPP) (*T, error) {
	return perSession(v, st, func(Session) *T { return st.begin() })
}

// perSession returns what was made for key in the current session, and makes it the first
// time.
func perSession[T any](v *VPP, key any, begin func(Session) T) (T, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, err := v.src.Session()
	if err != nil {
		var none T
		return none, err
	}
	if v.made == nil || v.epoch != s.Epoch {
		v.made, v.epoch = map[any]any{}, s.Epoch
	}
	out, ok := v.made[key].(T)
	if !ok {
		out = begin(s)
		v.made[key] = out
	}
	return out, nil
}

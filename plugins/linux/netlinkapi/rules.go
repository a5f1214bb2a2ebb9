package netlinkapi

import (
	"context"
	"net/netip"
)

// Rule is a policy rule: packets that match look for their route in a table. Rules can be
// compared with ==.
type Rule struct {
	IPv6     bool
	Priority uint32
	Src, Dst netip.Prefix // invalid: any
	Mark     uint32
	Mask     uint32 // bits of the mark that count; 0: any mark matches
	Invert   bool
	Table    uint32
	Protocol Protocol // ProtocolAgent marks the rules of the agent
}

// Rules reads and changes policy rules.
type Rules interface {
	// Rules returns the rules that look into a table and match by nothing else than the
	// fields of Rule.
	// Equivalent to: `ip rule show` and `ip -6 rule show`
	Rules(ctx context.Context) ([]Rule, error)
	// AddRule returns ErrExists if there is the same rule; one of another protocol is
	// another rule.
	// Equivalent to: `ip rule add priority N from SRC to DST fwmark MARK/MASK table TABLE`
	AddRule(ctx context.Context, r Rule) error
	// DeleteRule returns ErrNotFound if there is no such rule of the protocol.
	// Equivalent to: `ip rule delete priority N from SRC to DST fwmark MARK/MASK table TABLE`
	DeleteRule(ctx context.Context, r Rule) error
	// ChangeRules is AddRule or DeleteRule for several rules in their order, with few
	// requests. It returns one error per rule. OpReplace is invalid.
	// Equivalent to: `ip -force -batch FILE`
	ChangeRules(ctx context.Context, op RouteOp, all []Rule) []error
}

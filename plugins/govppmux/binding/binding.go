// Package binding lets one code drive many releases of VPP. Messages of VPP
// change by new names (tap_create_v2, tap_create_v3) that live side by side in
// one set of generated bindings; an operation lists its variants, newest
// first, and Pick takes the first one whose messages the connected VPP knows
// by name and CRC.
//
// The package also holds the facts about releases: which messages each has
// (Release), and where equal CRCs hide different behaviour (QuirksOf).
package binding

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.fd.io/govpp/api"
)

// ErrUnsupported means that the connected VPP lacks the messages of an
// operation. The error is an UnsupportedError.
var ErrUnsupported = errors.New("not supported by the connected VPP")

// Checker reports which messages a VPP knows: a connection, or the table of a
// release. If it also has a method Err() error, as connections do, that error
// is taken for the reason when nothing is known.
type Checker interface {
	// Has reports whether VPP knows the message by its name and CRC.
	Has(msg api.Message) bool
}

// Variant is one way to do an operation.
type Variant[F any] struct {
	// Needs are all messages of the variant: requests, replies, details.
	Needs []api.Message
	// Do carries the operation out. F is the operation's own function type.
	Do F
}

// Messages makes a list of needed messages; nil pointers of the right type are enough.
func Messages(msgs ...api.Message) []api.Message { return msgs }

// Pick returns the first variant whose messages the connected VPP knows. The
// choice holds for one session: after a reconnect, pick again. The error is an
// UnsupportedError, or the error of a connection that is down.
func Pick[F any](c Checker, op string, variants ...Variant[F]) (F, error) {
	var none F
	needs := make([]string, 0, len(variants))
	for _, v := range variants {
		missing := missingOf(c, v.Needs)
		if len(missing) == 0 {
			return v.Do, connected(c, op)
		}
		needs = append(needs, strings.Join(missing, "+"))
	}
	if err := connected(c, op); err != nil {
		return none, err
	}
	return none, &UnsupportedError{Op: op, NeedsOneOf: needs}
}

// Require returns an UnsupportedError unless VPP knows all the messages.
func Require(c Checker, op string, msgs ...api.Message) error {
	_, err := Pick(c, op, Variant[struct{}]{Needs: msgs})
	return err
}

func missingOf(c Checker, msgs []api.Message) []string {
	var missing []string
	for _, m := range msgs {
		if !c.Has(m) {
			missing = append(missing, NameCRC(m))
		}
	}
	return missing
}

// connected distinguishes a VPP without the messages from no VPP.
func connected(c Checker, op string) error {
	if conn, ok := c.(interface{ Err() error }); ok {
		if err := conn.Err(); err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
	}
	return nil
}

// NameCRC is the name under which VPP lists a message: "<name>_<crc>".
func NameCRC(m api.Message) string { return m.GetMessageName() + "_" + m.GetCrcString() }

// UnsupportedError names the messages that an operation would need.
type UnsupportedError struct {
	// Op is the operation, for people ("create tap").
	Op string
	// NeedsOneOf are the missing messages of each variant, newest variant
	// first, as "<name>_<crc>", joined by "+" where a variant misses several.
	NeedsOneOf []string
	// NotLoaded is the plugin of VPP that has the messages, if VPP has not loaded it; otherwise
	// empty.
	NotLoaded string
}

// InPlugin sets NotLoaded of an UnsupportedError: VPP has not loaded a plugin if it knows none of
// the messages of the variants by name. It returns err.
func InPlugin[F any](c Checker, plugin string, err error, variants ...Variant[F]) error {
	names, ok := c.(interface{ HasName(name string) bool })
	var unsupported *UnsupportedError
	if !ok || plugin == "" || !errors.As(err, &unsupported) {
		return err
	}
	for _, v := range variants {
		if slices.ContainsFunc(v.Needs, func(m api.Message) bool { return names.HasName(m.GetMessageName()) }) {
			return err
		}
	}
	unsupported.NotLoaded = plugin
	return err
}

// Error names the operation, and the messages or the plugin of VPP that is not loaded.
func (e *UnsupportedError) Error() string {
	if e.NotLoaded != "" {
		op, file := strings.TrimSuffix(e.Op, " (plugin "+e.NotLoaded+" of VPP)"), strings.ReplaceAll(e.NotLoaded, "-", "_")
		return fmt.Sprintf("%s: VPP has not loaded the plugin %s (in its startup.conf: plugins { plugin %s_plugin.so { enable } })", op, e.NotLoaded, file)
	}
	if len(e.NeedsOneOf) == 1 {
		return fmt.Sprintf("%s: %v (needs %s)", e.Op, ErrUnsupported, e.NeedsOneOf[0])
	}
	return fmt.Sprintf("%s: %v (needs one of: %s)", e.Op, ErrUnsupported, strings.Join(e.NeedsOneOf, ", "))
}

// Is makes errors.Is(err, ErrUnsupported) true.
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

package netlinkapi

import (
	"context"
	"errors"
	"strings"
)

// ErrNoProgram: a program that the operation runs is not installed.
var ErrNoProgram = errors.New("program is not installed")

// FilterTable is a table of iptables ("filter", "nat", ...) or of ip6tables.
type FilterTable struct {
	IPv6 bool
	Name string
}

// NFTable returns the table of nftables that iptables-nft keeps it in.
func (t FilterTable) NFTable() NFTable {
	if t.IPv6 {
		return NFTable{"ip6", t.Name}
	}
	return NFTable{"ip", t.Name}
}

// PacketFilter reads and changes the chains of a namespace, in the language of
// iptables-save(8) and iptables-restore(8). A missing program is ErrNoProgram.
type PacketFilter interface {
	// SaveTable returns a table as iptables-save prints it, without counters.
	// Equivalent to: `iptables-save -t TABLE`
	SaveTable(ctx context.Context, t FilterTable) (string, error)
	// RestoreTable applies the lines between the name of the table and COMMIT, as
	// iptables-restore --noflush does: all of them or, with an error, none. Chains that are
	// declared are emptied first. A line that is refused is a *LineError.
	// Equivalent to: `iptables-restore --noflush --wait`
	RestoreTable(ctx context.Context, t FilterTable, lines []string) error
	// TryTable returns what SaveTable would return after RestoreTable in a new
	// namespace, and changes nothing.
	// Equivalent to: `unshare --net sh -c 'iptables-restore --noflush --wait; iptables-save -t TABLE'`
	TryTable(ctx context.Context, t FilterTable, lines []string) (string, error)
}

// RestoreInput is the input of iptables-restore.
func RestoreInput(t FilterTable, lines []string) string {
	return "*" + t.Name + "\n" + strings.Join(lines, "\n") + "\nCOMMIT\n"
}

// LineError is the refusal of one line by RestoreTable.
type LineError struct {
	Line int // index of the line
	Err  error
}

// Error returns the line and the message of iptables-restore.
func (e *LineError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }

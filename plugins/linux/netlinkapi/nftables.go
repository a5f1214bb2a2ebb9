package netlinkapi

import (
	"context"
	"fmt"
)

// NFTable is a table of nftables: its family ("inet", "ip", "ip6", "arp", "bridge" or
// "netdev") and its name.
type NFTable struct{ Family, Name string }

// String returns the table as nft(8) writes it.
func (t NFTable) String() string { return t.Family + " " + t.Name }

// Nftables reads and changes the tables of nftables of a namespace. Their content is what is
// between the braces of "table", in the language of nft(8). A missing program is ErrNoProgram.
type Nftables interface {
	// NFTable returns the content as nft prints it, with or without counters and other
	// state; ErrNotFound if there is no such table.
	// Equivalent to: `nft list table FAMILY NAME`, without state `nft -s`
	NFTable(ctx context.Context, t NFTable, state bool) (content string, err error)
	// SetNFTable makes the table, or replaces it, in one transaction: with an error it is
	// as it was. A refusal is a *ContentError.
	// Equivalent to: `nft -f FILE`
	SetNFTable(ctx context.Context, t NFTable, content string) error
	// DeleteNFTable returns ErrNotFound if there is no such table.
	// Equivalent to: `nft delete table FAMILY NAME`
	DeleteNFTable(ctx context.Context, t NFTable) error
	// TryNFTable returns what NFTable would return after SetNFTable in a new
	// namespace, which has no links but a loopback, and changes nothing.
	// Equivalent to: `unshare --net sh -c 'nft -f FILE; nft list table FAMILY NAME'`
	TryNFTable(ctx context.Context, t NFTable, content string, state bool) (string, error)
}

// ContentError is a refusal of the content of a table.
type ContentError struct {
	Line    int // of the content, from 1; 0: not known
	Message string
}

// Error returns the line and the message of nft.
func (e *ContentError) Error() string {
	if e.Line == 0 {
		return "nft: " + e.Message
	}
	return fmt.Sprintf("nft: line %d: %s", e.Line, e.Message)
}

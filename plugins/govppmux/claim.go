package govppmux

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/holder"
)

// claim is what the name of a connection says about the agent that made it. VPP lists the
// names of its clients ("show api clients"), 20 characters of each, and drops a client
// with its socket, so that a claim ends with the process that made it.
type claim struct {
	role    byte
	label   uint32 // hash of the label, 30 bits
	pid     uint32 // 24 bits
	since   uint64 // start of the process, in seconds, 36 bits
	process uint32 // hash of what else distinguishes two processes, 18 bits
}

// The roles of connections: a session, or an agent that wants one.
const (
	holds    = 'h'
	competes = 'c'
)

const (
	claimMark   = '~'
	claimLength = 20
	claimBits   = (claimLength - 2) * 6 // in characters of base64
)

// claimOf is the claim of an agent.
func claimOf(role byte, id holder.Identity) claim {
	return claim{
		role: role, label: hash(id.Label) & (1<<30 - 1), pid: uint32(id.PID) & (1<<24 - 1),
		since:   uint64(id.Since.Unix()) & (1<<36 - 1),
		process: hash(fmt.Sprint(id.Instance, id.Host, id.Since.UnixNano())) & (1<<18 - 1),
	}
}

func hash(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum32()
}

// name is the name of the connection: mark and role, then in base64 30 bits of label, 24
// of process ID, 36 of time, 18 of process.
func (c claim) name() string {
	// 108 bits, the upper 54 and the lower 54.
	upper := uint64(c.label)<<24 | uint64(c.pid)
	lower := c.since<<18 | uint64(c.process)
	var bits [14]byte // 112: the last 4 are not used
	binary.BigEndian.PutUint64(bits[:8], upper<<10|lower>>44)
	var rest [8]byte
	binary.BigEndian.PutUint64(rest[:], lower<<20)
	copy(bits[8:], rest[:6])
	return string(claimMark) + string(c.role) + base64.RawURLEncoding.EncodeToString(bits[:])[:claimBits/6]
}

// parseClaim is the inverse of name.
func parseClaim(name string) (c claim, ok bool) {
	if len(name) != claimLength || name[0] != claimMark || name[1] != holds && name[1] != competes {
		return c, false
	}
	bits, err := base64.RawURLEncoding.DecodeString(name[2:] + "A")
	if err != nil {
		return c, false
	}
	var rest [8]byte
	copy(rest[:], bits[8:])
	first := binary.BigEndian.Uint64(bits[:8])
	upper, lower := first>>10, first<<44&(1<<54-1)|binary.BigEndian.Uint64(rest[:])>>20
	return claim{
		role: name[1], label: uint32(upper >> 24), pid: uint32(upper) & (1<<24 - 1),
		since: lower >> 18, process: uint32(lower) & (1<<18 - 1),
	}, true
}

// claims finds the claims in what VPP prints about its clients: a line for each, with
// the name first.
func claims(clients string) (found []claim) {
	for line := range strings.Lines(clients) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		name := fields[0]
		if c, ok := parseClaim(name[:min(len(name), claimLength)]); ok {
			found = append(found, c)
		}
	}
	return found
}

// same reports whether both are of one process.
func (c claim) same(o claim) bool {
	return c.pid == o.pid && c.since == o.since && c.process == o.process
}

// before orders agents that compete: the one that was started first wins.
func (c claim) before(o claim) bool {
	if c.since != o.since {
		return c.since < o.since
	}
	return c.name()[2:] < o.name()[2:]
}

func (c claim) String() string {
	return fmt.Sprintf("vpp-agent pid %d since %s", c.pid, time.Unix(int64(c.since), 0).UTC().Format(time.RFC3339))
}

// verdict is what a look at the clients of VPP says about a claim.
type verdict int

const (
	alone  verdict = iota // no other agent with the label
	yields                // another one holds VPP, or goes first
	waits                 // others compete that go later: they yield, or one holds VPP already
)

// judge compares the claim of a competing agent with the claims of others. An agent may
// take VPP only while no other one with its label is in sight, and stays in sight until it
// has it. Of two that compete at the same time each sees the other: the later one yields.
func (c claim) judge(all []claim) (v verdict, by claim) {
	for _, o := range all {
		switch {
		case o.label != c.label || o.same(c):
		case o.role == holds || o.before(c):
			return yields, o
		default:
			v, by = waits, o
		}
	}
	return v, by
}

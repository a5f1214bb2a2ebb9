package record

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Part selects what Format writes of a transaction.
type Part int

// The parts. A transaction that is printed while it runs is written in two
// steps, PartPlan before and PartResult after the execution.
const (
	PartAll    Part = iota // everything
	PartPlan               // header, arguments and planned operations
	PartResult             // executed operations and footer
)

// FormatOptions say how Format writes a transaction.
type FormatOptions struct {
	Part Part
	// Box frames the transaction with a header and a footer line, for a log that
	// other text is mixed into. Without it a plain title is written.
	Box bool
	// Planned writes the planned operations too; a transaction with simulation
	// always shows them.
	Planned bool
	// MaxItems is the number of values and of operations shown of each list; 0
	// shows all.
	MaxItems int
	// MorePlanned is the number of planned operations that the transaction has
	// besides those in its record.
	MorePlanned int
}

// boxWidth is the width of the frame in characters, without the two borders.
const boxWidth = 118

// Format writes a transaction in the form of the transaction log. It returns the
// writer's error.
func Format(w io.Writer, txn *api.RecordedTxn, opts FormatOptions) error {
	p := printer{w: bufio.NewWriter(w), opts: opts, indent: "    ", words: historyWords()}
	if opts.Box {
		p.indent, p.words = "  ", logWords()
	}
	if opts.Part != PartResult {
		p.header(txn)
		p.arguments(txn)
		if len(txn.Planned) > 0 && (opts.Planned || txn.WithSimulation) {
			p.line(0, "* planned operations:")
			p.operations(txn.Planned, p.opts.MorePlanned)
		}
	}
	if opts.Part != PartPlan {
		p.result(txn)
	}
	return p.w.Flush()
}

// FormatAll writes transactions one after the other, separated by empty lines.
func FormatAll(w io.Writer, txns []*api.RecordedTxn, opts FormatOptions) error {
	for i, txn := range txns {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := Format(w, txn, opts); err != nil {
			return err
		}
	}
	return nil
}

// printer writes lines; bufio.Writer keeps the first error until Flush.
type printer struct {
	w      *bufio.Writer
	opts   FormatOptions
	indent string
	words  words
}

// words are what the predecessor spells in two ways.
type words struct {
	seqNum, value string
	kind          func(*api.RecordedTxn) string
	executed      string // format of start, end and duration
	stamp         func(time.Time) string
	took          func(time.Duration) string
}

// historyWords are the words of the predecessor's text of the history, over REST.
func historyWords() words {
	return words{
		seqNum: "seqNum", value: "val", kind: Kind, executed: "* executed operations (%s -> %s, dur: %s):", stamp: stamp,
		took: func(d time.Duration) string { return d.Round(time.Millisecond).String() },
	}
}

// logWords are the words of the transaction log in the predecessor's documents.
func logWords() words {
	return words{
		seqNum: "seq-num", value: "value",
		kind: func(txn *api.RecordedTxn) string {
			return strings.Replace(Kind(txn), "Transaction", "transaction", 1)
		},
		executed: "* executed operations (%s - %s, duration = %s):",
		stamp:    func(t time.Time) string { return t.UTC().Round(0).String() },
		took:     time.Duration.String,
	}
}

func (p *printer) line(level int, format string, args ...any) {
	p.w.WriteString(p.indent)
	for range level {
		p.w.WriteString("    ")
	}
	fmt.Fprintf(p.w, format, args...)
	p.w.WriteByte('\n')
}

func (p *printer) header(txn *api.RecordedTxn) {
	title := fmt.Sprintf("Transaction #%d", txn.SeqNum)
	if !p.opts.Box {
		fmt.Fprintf(p.w, "%s:\n", title)
		return
	}
	p.frame('+', '=')
	p.between('|', title, p.words.kind(txn))
	p.frame('+', '=')
}

func (p *printer) frame(corner, edge rune) {
	fmt.Fprintf(p.w, "%c%s%c\n", corner, strings.Repeat(string(edge), boxWidth), corner)
}

// between writes two texts at the two ends of a framed line.
func (p *printer) between(border rune, left, right string) {
	gap := boxWidth - 2 - utf8.RuneCountInString(left) - utf8.RuneCountInString(right)
	fmt.Fprintf(p.w, "%c %s%s%s %c\n", border, left, strings.Repeat(" ", max(1, gap)), right, border)
}

// Kind names the type of a transaction for people, with the kind of resync or
// the transaction that it retries.
func Kind(txn *api.RecordedTxn) string {
	switch txn.TxnType {
	case api.SBNotification:
		return "SB Notification"
	case api.RetryFailedOps:
		return fmt.Sprintf("Retry Transaction (for txn %d, attempt #%d)", txn.RetryForTxn, txn.RetryAttempt)
	case api.RetryUnimplOps:
		return "Retry of Unimplemented Values"
	}
	switch txn.ResyncType {
	case api.FullResync:
		return "NB Transaction, Full Resync"
	case api.UpstreamResync:
		return "NB Transaction, NB Sync"
	case api.DownstreamResync:
		return "NB Transaction, SB Sync"
	}
	return "NB Transaction"
}

func (p *printer) arguments(txn *api.RecordedTxn) {
	p.line(0, "* transaction arguments:")
	p.line(1, "- %s: %d", p.words.seqNum, txn.SeqNum)
	p.line(1, "- type: %s", p.words.kind(txn))
	if txn.Description != "" {
		p.line(1, "- Description: %s", oneLine(txn.Description))
	}
	if txn.ResyncType == api.DownstreamResync {
		return // it repeats the previous desired state
	}
	if len(txn.Values) == 0 {
		p.line(1, "- values: NONE")
		return
	}
	p.line(1, "- values:")
	for i, kv := range txn.Values {
		if p.cut(i, len(txn.Values), txn.OmittedValues, 2, "values") {
			return
		}
		p.line(2, "- key: %s", kv.Key)
		p.line(2, "  %s: %s", p.words.value, ValueText(kv.Value))
	}
	p.cut(len(txn.Values), len(txn.Values), txn.OmittedValues, 2, "values")
}

// cut writes how many items are left out if the list ends before item i: because the
// limit is reached, or because only the others are missing from the record.
func (p *printer) cut(i, listed, others, level int, what string) bool {
	left := listed - i + others
	if left == 0 || i < listed && (p.opts.MaxItems == 0 || i < p.opts.MaxItems) {
		return false
	}
	p.line(level, "... and %d more %s", left, what)
	return true
}

func (p *printer) result(txn *api.RecordedTxn) {
	took := txn.Stop.Sub(txn.Start)
	switch {
	case txn.PreRecord:
		p.line(0, "* not executed yet")
	default:
		p.line(0, p.words.executed, p.words.stamp(txn.Start), p.words.stamp(txn.Stop), p.words.took(took))
		p.operations(txn.Executed, txn.OmittedOps)
		if txn.Reverted {
			p.line(0, "* the transaction failed and was %s", RevertedText(txn))
		}
	}
	if !p.opts.Box {
		return
	}
	p.frame('x', '-')
	p.between('x', fmt.Sprintf("#%d", txn.SeqNum), "took "+whole(took).String())
	p.frame('x', '-')
}

// RevertedText says how far a transaction was reverted.
func RevertedText(txn *api.RecordedTxn) string {
	if txn.NotReverted == 0 {
		return "reverted"
	}
	return fmt.Sprintf("reverted in part: %d of %d values could not be", txn.NotReverted, txn.ToRevert)
}

func stamp(t time.Time) string {
	return t.Round(time.Millisecond).UTC().Format("2006-01-02 15:04:05.999 -0700 MST")
}

// roundDuration keeps about three digits.
func roundDuration(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 100)
		}
	}
	return d
}

// whole rounds to milliseconds, or to microseconds if there is less than one.
func whole(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

// operations writes a list; more is the number of operations that are not in it.
func (p *printer) operations(ops []api.RecordedTxnOp, more int) {
	if len(ops)+more == 0 {
		p.line(1, "<NONE>")
	}
	for i := range ops {
		if p.cut(i, len(ops), more, 1, "operations") {
			return
		}
		p.operation(i+1, &ops[i])
	}
	p.cut(len(ops), len(ops), more, 1, "operations")
}

func (p *printer) operation(n int, op *api.RecordedTxnOp) {
	flags := ""
	if f := Flags(op); len(f) > 0 {
		flags = " [" + strings.Join(f, " ") + "]"
	}
	p.line(1, "%d. %s%s:", n, op.Operation, flags)
	p.line(2, "- key: %s", op.Key)
	prev, next := ValueText(op.PrevValue), ValueText(op.NewValue)
	switch {
	case op.PrevValue == nil || op.NewValue == nil && prev != textNil:
		p.line(2, "- value: %s", pick(op.PrevValue == nil, next, prev))
	case prev == next:
		p.line(2, "- value: %s", next)
	default:
		p.line(2, "- prev-value: %s", prev)
		p.line(2, "- new-value: %s", next)
	}
	if op.PrevErrMsg != "" && op.PrevErrMsg != op.NewErrMsg {
		p.line(2, "- prev-error: %s", oneLine(op.PrevErrMsg))
	}
	if op.NewErrMsg != "" {
		p.line(2, "- error: %s", oneLine(op.NewErrMsg))
	}
}

// oneLine keeps joined errors and long descriptions on their line.
func oneLine(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ") }

// Flags are the words that the transaction log prints in brackets after the
// operation: what is special about it and how the state of the value changed.
func Flags(op *api.RecordedTxnOp) []string {
	var flags []string
	add := func(when bool, flag string) {
		if when {
			flags = append(flags, flag)
		}
	}
	add(op.IsDerived && !op.IsProperty, "DERIVED")
	add(op.IsProperty, "PROPERTY")
	add(op.NOOP && !op.IsProperty, "NOOP")
	add(op.IsRevert && !op.IsProperty, "REVERT")
	add(op.IsRetry && !op.IsProperty, "RETRY")
	add(op.IsRecreate, "RECREATE")
	add(op.IsLeft, "LEFT")
	return append(flags, stateFlags(op)...)
}

// stateFlags describe the transition between two states. A value can leave one
// state and enter another, so there are up to two of them.
func stateFlags(op *api.RecordedTxnOp) []string {
	var flags []string
	if left := leftFlag(op); left != "" {
		flags = append(flags, left)
	}
	if entered := enteredFlag(op); entered != "" {
		flags = append(flags, entered)
	}
	return flags
}

func leftFlag(op *api.RecordedTxnOp) string {
	removed := op.Operation == pb.TxnOperation_DELETE
	switch prev, next := op.PrevState, op.NewState; {
	case prev == pb.ValueState_DISCOVERED:
		return "DISCOVERED"
	case prev == pb.ValueState_REMOVED && removed:
		return "ALREADY-REMOVED"
	case prev == pb.ValueState_MISSING && next == pb.ValueState_REMOVED:
		return "ALREADY-MISSING"
	case prev == pb.ValueState_MISSING && next != pb.ValueState_MISSING:
		return "WAS-MISSING"
	case prev == pb.ValueState_OBTAINED && next != pb.ValueState_OBTAINED:
		return "WAS-OBTAINED"
	case prev == pb.ValueState_UNIMPLEMENTED && next != pb.ValueState_UNIMPLEMENTED:
		return "WAS-UNIMPLEMENTED"
	case prev == pb.ValueState_PENDING && next != pb.ValueState_PENDING:
		return "WAS-PENDING"
	case (broken(prev) || prev == pb.ValueState_INVALID) && next == pb.ValueState_CONFIGURED:
		return "FIXED"
	}
	return ""
}

func enteredFlag(op *api.RecordedTxnOp) string {
	switch prev := op.PrevState; op.NewState {
	case pb.ValueState_OBTAINED:
		return "OBTAINED"
	case pb.ValueState_UNIMPLEMENTED:
		return "UNIMPLEMENTED"
	case pb.ValueState_PENDING:
		return pick(prev == pb.ValueState_PENDING, "STILL-PENDING", "IS-PENDING")
	case pb.ValueState_INVALID:
		return pick(prev == pb.ValueState_INVALID, "STILL-INVALID", "INVALID")
	case pb.ValueState_FAILED, pb.ValueState_RETRYING:
		return pick(broken(prev), "STILL-FAILING", "FAILED")
	}
	return ""
}

func broken(s api.ValueState) bool { return s == pb.ValueState_FAILED || s == pb.ValueState_RETRYING }

func pick(when bool, yes, no string) string {
	if when {
		return yes
	}
	return no
}

const (
	textNil   = "<NIL>"   // no value
	textEmpty = "<EMPTY>" // a value without any field set
)

// ValueText is the value on one line, "{ name:"if1" mtu:1500 }", the same on
// every run. Secrets are replaced as in the log.
func ValueText(v proto.Message) string {
	if v == nil || !v.ProtoReflect().IsValid() {
		return textNil
	}
	text := singleSpaces(logging.Redact(v).String())
	if text == "" {
		return textEmpty
	}
	return "{ " + text + " }"
}

// singleSpaces undoes the deliberate instability of prototext, which writes
// one or two spaces between fields. Quoted text is left alone.
func singleSpaces(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	var quote byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == '\\' && i+1 < len(s) {
				b.WriteByte(c)
				i++
				c = s[i]
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ' ' && i > 0 && s[i-1] == ' ':
			continue
		}
		b.WriteByte(c)
	}
	return strings.TrimSpace(b.String())
}

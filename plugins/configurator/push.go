package configurator

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// What a client may say in the metadata of a change.
const (
	// SourceMetadata names the source that the change is of; "grpc" if missing.
	SourceMetadata = "datasrc"
	// RevertMetadata ("true") undoes everything if one item fails.
	RevertMetadata = "tenuto-revert"
	// DescriptionMetadata says what the change is for; it is shown in the history.
	DescriptionMetadata = "tenuto-description-bin"
	// SeqNumHeader is in the header of the answer: the sequence number of the
	// transaction, if there was one.
	SeqNumHeader = "seqnum"
)

// pushback is in the trailer of a refusal: after how many milliseconds to try
// again (gRFC A6).
const pushback = "grpc-retry-pushback-ms"

// maxDescription bounds a description, in bytes.
const maxDescription = 1000

// item is an item of a request.
type item struct {
	orchestrator.KeyVal
	path string // of its field
}

// sourcePattern is what names of sources look like.
var sourcePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// origin is who wants a change, and how.
type origin struct {
	source string
	opts   []orchestrator.PushOption
	revert bool
}

// originOf reads the metadata of a call.
func originOf(ctx context.Context, method string) (o origin, err error) {
	md, _ := metadata.FromIncomingContext(ctx)
	o.source = orchestrator.GRPC
	if names := md.Get(SourceMetadata); len(names) > 0 {
		o.source = names[0]
		if !sourcePattern.MatchString(o.source) || o.source == orchestrator.LocalClient {
			return o, status.Errorf(codes.InvalidArgument, "metadata %s: %q: expected a name of up to 64 letters, digits, dots, dashes and underscores, other than %s",
				SourceMetadata, o.source, orchestrator.LocalClient)
		}
	}
	if v := md.Get(RevertMetadata); len(v) > 0 {
		if o.revert, err = strconv.ParseBool(v[0]); err != nil {
			return o, status.Errorf(codes.InvalidArgument, "metadata %s: %q: expected true or false", RevertMetadata, v[0])
		}
		if o.revert {
			o.opts = append(o.opts, orchestrator.WithRevert())
		}
	}
	text := method
	var caller orchestrator.Caller
	caller.User, caller.Addr = grpc.Caller(ctx)
	if caller.Addr != "" {
		text += " from " + caller.Addr
	}
	if v := md.Get(DescriptionMetadata); len(v) > 0 {
		text = strings.ToValidUTF8(v[0][:min(len(v[0]), maxDescription)], "")
	}
	o.opts = append(o.opts, orchestrator.WithCaller(caller), orchestrator.WithDescription(text))
	return o, nil
}

// push makes a change of a client. seqNum is the number of its transaction,
// api.NoSeqNum if there was none. The error is a status, unless items failed, when it is
// a *api.TransactionError.
func (p *Plugin) push(ctx context.Context, method string, items []item, resync bool) (results []orchestrator.Result, seqNum uint64, err error) {
	seqNum = api.NoSeqNum
	from, err := originOf(ctx, method)
	if err != nil {
		return nil, seqNum, err
	}
	for i, it := range items {
		items[i].Val = p.Orchestrator.RestoreSecrets(from.source, it.Key, it.Val)
	}
	if err := p.check(from.source, items); err != nil {
		return nil, seqNum, err
	}
	kvs := make([]orchestrator.KeyVal, len(items))
	for i, it := range items {
		kvs[i] = it.KeyVal
		kvs[i].Location = kv.At(it.path)
	}
	if resync {
		from.opts = append(from.opts, orchestrator.WithResync())
	}
	results, err = p.Orchestrator.PushData(ctx, from.source, kvs, append(from.opts, orchestrator.WithSeqNum(&seqNum))...)
	if seqNum != api.NoSeqNum {
		// It fails if the client, who no longer wants it, has gone.
		_ = rpc.SetHeader(ctx, metadata.Pairs(SeqNumHeader, strconv.FormatUint(seqNum, 10)))
	}
	var txn *api.TransactionError
	part := errors.As(err, &txn) && txn.GetTxnInitError() == nil
	if err == nil || part && !txn.Reverted() {
		p.tellEffects(ctx, from.source, results)
	}
	if part {
		return results, seqNum, txn
	}
	return results, seqNum, statusOf(ctx, err, items, results)
}

// statusOf is the status of a change that was not made.
func statusOf(ctx context.Context, err error, items []item, results []orchestrator.Result) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, orchestrator.ErrInvalidItems):
		var ps problems
		for i, r := range results {
			if r.Err != nil {
				ps = append(ps, problem{items[i].path, r.Key, "INVALID", r.Err.Error()})
			}
		}
		return ps.status(codes.InvalidArgument, "nothing was changed")
	case errors.Is(err, api.ErrRevertNotSupportedWithResync):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, orchestrator.ErrQueueFull):
		// Clients with a retry policy wait for as long as this says.
		_ = rpc.SetTrailer(ctx, metadata.Pairs(pushback, strconv.FormatInt(orchestrator.RetryAfter(err).Milliseconds(), 10)))
		return status.Error(codes.ResourceExhausted, err.Error())
	case ctx.Err() != nil:
		return status.Error(status.FromContextError(ctx.Err()).Code(), err.Error())
	case errors.Is(err, orchestrator.ErrWithdrawn), errors.Is(err, api.ErrClosedScheduler):
		return status.Error(codes.Unavailable, err.Error())
	}
	return status.Error(codes.FailedPrecondition, err.Error())
}

// check says what is wrong with the items of a request; nothing of one that is
// wrong takes effect.
func (p *Plugin) check(source string, items []item) error {
	var ps problems
	seen := make(map[string]string, len(items))
	byMessage := make(map[proto.Message]item, len(items))
	messages := make([]proto.Message, 0, len(items))
	for _, it := range items {
		if before, twice := seen[it.Key]; twice {
			ps = append(ps, problem{it.path, it.Key, "INVALID", "the same item as " + before})
			continue
		}
		seen[it.Key] = it.path
		if it.Val != nil {
			byMessage[it.Val] = it
			messages = append(messages, it.Val)
		}
	}
	err := p.Scheduler.ValidateSemantically(messages)
	var invalid *api.InvalidMessagesError
	switch {
	case errors.As(err, &invalid):
		for _, e := range invalid.MessageErrors {
			it, ok := byMessage[e.Message]
			if !ok {
				it = byMessage[e.ParentMessage]
			}
			ps = append(ps, problem{it.path, it.Key, "INVALID", reason(e)})
		}
	case err != nil:
		return status.Error(codes.Internal, err.Error())
	}
	refused := make([]orchestrator.Rejected, len(ps))
	for i, pr := range ps {
		refused[i] = orchestrator.Rejected{Key: pr.key, Location: pr.path, Err: errors.New(pr.text)}
	}
	if len(refused) > 0 {
		p.Orchestrator.NoteRefused(source, refused...)
	}
	return ps.status(codes.InvalidArgument, "nothing was changed")
}

// reason names the fields that are wrong, once.
func reason(e *api.InvalidMessageError) string {
	fields := strings.Join(e.InvalidFields, ", ")
	if text := e.Err.Error(); fields == "" || strings.HasPrefix(text, fields+": ") {
		return text
	}
	return fmt.Sprintf("%s: %v", fields, e.Err)
}

// wait waits until a change is finished; see orchestrator.WaitFor.
func (p *Plugin) wait(ctx context.Context, items []item, results []orchestrator.Result) error {
	kvs := make([]orchestrator.KeyVal, len(items))
	for i, it := range items {
		kvs[i] = it.KeyVal
	}
	if err := p.Orchestrator.WaitFor(ctx, kvs, results); err != nil {
		return waitStatus(ctx, err, items)
	}
	return nil
}

func waitStatus(ctx context.Context, err error, items []item) error {
	code := codes.FailedPrecondition
	if ctx.Err() != nil {
		code = status.FromContextError(ctx.Err()).Code()
	}
	var w *api.WaitError
	if !errors.As(err, &w) || len(w.Unmet) == 0 {
		return status.Error(code, err.Error())
	}
	paths := make(map[string]string, len(items))
	for _, it := range items {
		paths[it.Key] = it.path
	}
	var ps problems
	for _, u := range w.Unmet {
		ps = append(ps, problem{paths[u.Key], u.Key, u.State.String(), u.Reason})
	}
	return ps.status(code, w.Cause.Error())
}

// Package session is how the VPP plugins reach the VPP that is connected now:
// calls whose replies are checked, dumps, and operations (Operation) that are declared
// once and chosen again for every session among the variants which that VPP knows.
package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/vlib"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Session is one connection to one VPP.
type Session struct {
	// Epoch distinguishes sessions. A VPP that was restarted, and one that was
	// only reconnected to, have another epoch than before.
	Epoch uint64
	// Client is the connection; it fails with binapi.ErrDisconnected when
	// the session has ended.
	Client binapi.Client
	// Quirks are what the release of this VPP does differently from what its
	// messages report.
	Quirks binding.Quirks
}

// Source gives the session to work with. Its methods may be called
// concurrently.
type Source interface {
	// Session returns the current session, or an error that says why there is
	// none.
	Session() (Session, error)
}

// Holder is a Source whose session is set by its owner. The zero value has none.
type Holder struct {
	mu     sync.RWMutex
	now    Session
	reason error
}

// Set makes s the current session.
func (h *Holder) Set(s Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now, h.reason = s, nil
}

// Clear leaves no session, because of reason.
func (h *Holder) Clear(reason error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now, h.reason = Session{}, reason
}

// Session implements Source. Without a session the error is, or wraps,
// binapi.ErrDisconnected.
func (h *Holder) Session() (Session, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	switch {
	case h.now.Client != nil:
		return h.now, nil
	case h.reason == nil:
		return Session{}, kvs.Unreached(binapi.ErrDisconnected)
	case errors.Is(h.reason, binapi.ErrDisconnected):
		return Session{}, kvs.Unreached(h.reason)
	default:
		return Session{}, kvs.Unreached(fmt.Errorf("%w: %w", binapi.ErrDisconnected, h.reason))
	}
}

// VPP sends requests to the VPP of the current session. Its methods may be
// called concurrently. A request ends at the reply timeout of the connection or
// when its context is canceled.
type VPP struct {
	src Source

	mu    sync.Mutex
	epoch uint64
	made  map[any]any // in the session of the epoch, by *Operation or *State

	leaving []func(ctx context.Context, swIfIndex uint32) error // see OnLeaveLayer2
}

// New returns a VPP that uses the sessions of src.
func New(src Source) *VPP { return &VPP{src: src} }

// Session returns the current session.
func (v *VPP) Session() (Session, error) { return v.src.Session() }

// Call sends a request, waits for the reply and checks its return value. The
// error names the request; errors.Is finds the api.VPPApiError in it.
func (v *VPP) Call(ctx context.Context, req, reply api.Message) error {
	s, err := v.src.Session()
	if err != nil {
		return fmt.Errorf("%s: %w", req.GetMessageName(), err)
	}
	return classifyError(s.Client.Call(ctx, req, reply))
}

// CallAll is Call for several requests. It sends all requests before it waits for the first
// reply. replies has one message for each request, and the result one error.
func (v *VPP) CallAll(ctx context.Context, requests, replies []api.Message) []error {
	errs := make([]error, len(requests))
	s, err := v.src.Session()
	if err != nil {
		for i, req := range requests {
			errs[i] = fmt.Errorf("%s: %w", req.GetMessageName(), err)
		}
		return errs
	}
	sent := make([]binapi.Future, len(requests))
	for i, req := range requests {
		sent[i] = s.Client.Send(ctx, req, replies[i])
	}
	for i := range sent {
		errs[i] = classifyError(sent[i].Result())
	}
	return errs
}

// Command runs a command of VPP's command line and returns what it prints. The error of a command
// that VPP refuses has VPP's text.
func (v *VPP) Command(ctx context.Context, command string) (string, error) {
	reply := &vlib.CliInbandReply{}
	err := v.Call(ctx, &vlib.CliInband{Cmd: command}, reply)
	if text := strings.TrimSpace(reply.Reply); err != nil && text != "" {
		return "", fmt.Errorf("command %q: VPP answers %q: %w", command, text, err)
	}
	if err != nil {
		return "", fmt.Errorf("command %q: %w", command, err)
	}
	return reply.Reply, nil
}

// Has reports whether the connected VPP knows all the messages; false without
// a session.
func (v *VPP) Has(msgs ...api.Message) bool {
	s, err := v.src.Session()
	if err != nil {
		return false
	}
	for _, m := range msgs {
		if !s.Client.Has(m) {
			return false
		}
	}
	return true
}

// Dump returns all records that a ..._dump request yields; D is the pointer
// type of the ..._details message. An error means that nothing is known, not
// that nothing is there.
func Dump[D api.Message](ctx context.Context, v *VPP, req api.Message) ([]D, error) {
	s, err := v.src.Session()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", req.GetMessageName(), err)
	}
	found, err := binapi.Dump[D](ctx, s.Client, req)
	return found, classifyError(err)
}

// Each calls each for every record that a ..._dump request yields, as they come; D
// is the pointer type of the ..._details message. The record is used again when
// each returns. After an error what was seen is not all there is.
func Each[D api.Message](ctx context.Context, v *VPP, req api.Message, each func(D)) error {
	s, err := v.src.Session()
	if err != nil {
		return fmt.Errorf("%s: %w", req.GetMessageName(), err)
	}
	return classifyError(binapi.Each(ctx, s.Client, req, func(d D) error {
		each(d)
		return nil
	}))
}

// classifyError reports to the scheduler what an error means for it: a VPP that was gone before
// it was asked, one whose reply was lost or not waited for, and one that lacks a message.
func classifyError(err error) error {
	canceled := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if errors.Is(err, binapi.ErrReplyLost) || canceled && binapi.OutcomeUnknown(err) {
		return kvs.Undecided(err)
	}
	if errors.Is(err, binapi.ErrDisconnected) && !binapi.OutcomeUnknown(err) {
		return kvs.Unreached(err)
	}
	return unimplemented(err)
}

// unimplemented marks the error of a VPP that lacks a message, by itself or as one
// of the variants of an operation: what needs it is UNIMPLEMENTED.
func unimplemented(err error) error {
	if errors.Is(err, binapi.ErrUnknownMessage) || errors.Is(err, binding.ErrUnsupported) {
		return kvs.Unimplemented(err)
	}
	return err
}

// Gone reports that err is VPP's answer to the removal of something that does
// not exist: by the given return values, or because its interface does not.
func Gone(err error, retvals ...api.VPPApiError) bool {
	if errors.Is(err, api.INVALID_SW_IF_INDEX) {
		return true
	}
	for _, r := range retvals {
		if errors.Is(err, r) {
			return true
		}
	}
	return false
}

// Cursor returns all records that a ..._get request yields; D is the pointer type of the
// ..._details message. An error means that nothing is known, not that nothing is there.
func Cursor[D api.Message](ctx context.Context, v *VPP, req, reply api.Message) ([]D, error) {
	s, err := v.src.Session()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", req.GetMessageName(), err)
	}
	found, err := binapi.Cursor[D](ctx, s.Client, req, reply)
	return found, classifyError(err)
}

package binapi

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
)

var (
	// ErrDisconnected means that the connection is closed: by VPP, by a
	// protocol error or by Close. Requests pending at that moment may or may
	// not have been executed; see OutcomeUnknown.
	ErrDisconnected = errors.New("disconnected from VPP")
	// ErrReplyTimeout means that VPP did not answer within the reply timeout. It is a
	// cause of ErrDisconnected.
	ErrReplyTimeout = errors.New("no reply from VPP in time")
	// ErrReplyLost means that VPP answered later requests of the connection, and this one
	// not within the reply timeout after that. VPP executes requests in order: it has
	// executed this one or refused it.
	ErrReplyLost = errors.New("no reply from VPP, which answered later requests")
	// ErrUnknownMessage means that the connected VPP does not have the message
	// under this name and CRC.
	ErrUnknownMessage = errors.New("message unknown to the connected VPP")
	// ErrProtocol means that the peer sent something that is not the VPP API
	// socket protocol.
	ErrProtocol = errors.New("VPP API protocol error")
	// ErrTooLarge means that a message or the records of a dump exceed a limit
	// of the Options.
	ErrTooLarge = errors.New("larger than the limit")
	// ErrClosed is returned by operations on something that its user closed.
	// A connection closed by Close fails with ErrDisconnected and ErrClosed.
	ErrClosed = errors.New("closed")

	errClosedByVPP = errors.New("VPP closed the connection")
)

// RequestError is the error of a request that got no usable reply.
type RequestError struct {
	// Message is the VPP name of the request.
	Message string
	// Sent reports that the request was handed to the socket, so that VPP may
	// have executed it.
	Sent bool
	// Err is the cause: ErrDisconnected, ErrReplyTimeout, ErrReplyLost, ErrUnknownMessage,
	// the error of the context, or a decoding error.
	Err error
}

// Error names the request and the cause.
func (e *RequestError) Error() string { return e.Message + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// RetvalError is a reply of VPP that refuses a request.
type RetvalError struct {
	// Message is the VPP name of the request.
	Message string
	// Retval is the error VPP returned; errors.Is finds it.
	Retval api.VPPApiError
}

// Error names the request and VPP's answer.
func (e *RetvalError) Error() string { return e.Message + ": " + e.Retval.Error() }

// Unwrap returns the api.VPPApiError.
func (e *RetvalError) Unwrap() error { return e.Retval }

// OutcomeUnknown reports whether err leaves open if VPP executed the request:
// it was sent, and no reply came. Retrieve the state before trying again.
func OutcomeUnknown(err error) bool {
	var re *RequestError
	return errors.As(err, &re) && re.Sent
}

// canceled returns the error of a context that is done, with its cause; nil if the
// context is not done.
func canceled(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(cause, err) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func disconnected(cause error) error {
	if cause == nil {
		return ErrDisconnected
	}
	return fmt.Errorf("%w: %w", ErrDisconnected, cause)
}

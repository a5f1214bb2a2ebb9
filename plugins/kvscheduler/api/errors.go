package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
)

// Errors of the scheduler itself. Compare with errors.Is.
var (
	// ErrClosedScheduler: the scheduler was closed; nothing was queued.
	ErrClosedScheduler = errors.New("scheduler is closed")
	// ErrTxnCanceled: the context of Commit ended before the execution started.
	ErrTxnCanceled = errors.New("canceled while it waited in the queue; nothing of it is executed")
	// ErrTxnWaitCanceled: the caller stopped waiting; the transaction still runs.
	ErrTxnWaitCanceled = errors.New("waiting for the transaction was canceled; it is still executed")
	// ErrTxnDeadline: the deadline passed before the operation or the transaction started.
	ErrTxnDeadline = errors.New("not begun before the deadline of the transaction")
	// ErrTxnQueueFull: the queue has no room for a transaction WithoutBlocking.
	ErrTxnQueueFull = errors.New("transaction queue is full")
	// ErrCombinedDownstreamResyncWithChange: a downstream resync cannot have changes.
	ErrCombinedDownstreamResyncWithChange = errors.New("downstream resync cannot be combined with changes")
	// ErrRevertNotSupportedWithResync: a resync is best effort.
	ErrRevertNotSupportedWithResync = errors.New("resync cannot be reverted")
	// ErrDescriptorExists: a descriptor of that name is registered already.
	ErrDescriptorExists = errors.New("descriptor already exists")
	// ErrUnimplementedCreate: the descriptor of a northbound value has no Create.
	ErrUnimplementedCreate = errors.New("descriptor has no Create")
	// ErrWatchClosed: the watch was closed by its owner.
	ErrWatchClosed = errors.New("watch is closed")
	// ErrWaitHopeless: the scheduler will not bring the values there by itself.
	ErrWaitHopeless = errors.New("the value cannot reach the state without a change")
	// ErrNoSuchTransaction: the transaction is neither running nor in the history.
	ErrNoSuchTransaction = errors.New("no such transaction in the history")
	// ErrPermanent marks failures that a retry cannot fix; see Permanent.
	ErrPermanent = errors.New("permanent failure")
	// ErrUnimplemented marks values that the southbound cannot have; see Unimplemented.
	ErrUnimplemented = errors.New("not implemented by the southbound")
	// ErrInvalid marks failures of values that contradict their dependencies; see Invalid.
	ErrInvalid = errors.New("value contradicts what it depends on")
	// ErrUnreached marks requests that did not reach the southbound; see Unreached.
	ErrUnreached = errors.New("southbound not reached")
	// ErrFound is no failure. Create returns it, unwrapped and with the metadata, if the object
	// was there before and is now the desired one. Under the ownership policy "adopt" the value
	// is then adopted; else it is as if Create had made it.
	ErrFound = errors.New("existed before")
	// ErrLeft marks the result of a Delete that left the object in the southbound; see Left.
	ErrLeft = errors.New("left in the southbound")
	// ErrUndecided marks failures with an unknown effect in the southbound; see Undecided.
	ErrUndecided = errors.New("outcome unknown")
	// ErrUnresponsive marks a southbound that exists and does not answer; see Unresponsive.
	ErrUnresponsive = errors.New("southbound does not answer")
	// ErrCallbackTimeout: a callback did not return in time; its effect is unknown.
	ErrCallbackTimeout = errors.New("callback did not return in time")
	// ErrSessionEnded: the context of a callback was canceled, because the session of its
	// southbound ended. The error also wraps the reason given to SouthboundDown.
	ErrSessionEnded = errors.New("session of the southbound ended")
	// ErrNotVerified: the southbound does not have the value of the transaction.
	ErrNotVerified = errors.New("not verified")
)

// markedError is an error that errors.Is finds by other errors as well.
type markedError struct {
	error
	marks []error
}

func (e *markedError) Unwrap() error        { return e.error }
func (e *markedError) Is(target error) bool { return slices.Contains(e.marks, target) }

// marked adds marks to an error; nil stays nil.
func marked(err error, marks ...error) error {
	if err == nil {
		return nil
	}
	return &markedError{err, marks}
}

// Permanent marks err as a failure that a retry cannot fix.
func Permanent(err error) error { return marked(err, ErrPermanent) }

// Unimplemented marks err as the failure of a value that this release or configuration of
// the southbound cannot have. The value is UNIMPLEMENTED, with the error, until it is asked
// for again or the southbound is another one.
func Unimplemented(err error) error { return marked(err, ErrUnimplemented, ErrPermanent) }

// Invalid marks err as the failure of a value that contradicts its dependencies. The value
// is INVALID, with the error, until it changes or a dependency is created again. Name the
// fields with NewInvalidValueError.
func Invalid(err error) error { return marked(err, ErrInvalid, ErrPermanent) }

// Unreached marks err as the failure of a request that did not reach the southbound,
// because that was already down. An operation that starts later did not crash it.
func Unreached(err error) error { return marked(err, ErrUnreached) }

// Undecided marks err as the failure of an operation that the southbound may have executed,
// in whole or in part. Retrieve then gets the value as Unconfirmed.
func Undecided(err error) error { return marked(err, ErrUndecided) }

// Left is the result of a Delete that leaves the object in the southbound, because other processes
// use it; reason says what they have in it. It is no failure: the value is deleted, and what stays is
// foreign. Such a descriptor sets KeepsShared.
func Left(reason string) error { return marked(errors.New(reason), ErrLeft) }

// Unresponsive marks err as the reason of SouthboundDown for a southbound that exists but
// does not answer. The operations in flight are suspects only if another SouthboundDown
// follows without this mark. If SouthboundUp follows, they have taken effect before it.
func Unresponsive(err error) error { return marked(err, ErrUnresponsive) }

// ErrInvalidValueType is the error for a value of a wrong type.
func ErrInvalidValueType(key string, value proto.Message) error {
	return Permanent(fmt.Errorf("value of key %q has unexpected type %T", key, value))
}

// ErrInvalidMetadataType is the error for metadata of a wrong type.
func ErrInvalidMetadataType(key string) error {
	return Permanent(fmt.Errorf("metadata of key %q has an unexpected type", key))
}

// InvalidValueError is the error of Validate: which fields are wrong, and why.
type InvalidValueError struct {
	err    error
	fields []string
}

// NewInvalidValueError names the invalid fields of a value as the protobuf schema does;
// nested fields with dots.
func NewInvalidValueError(err error, fields ...string) *InvalidValueError {
	return &InvalidValueError{err: err, fields: fields}
}

// Error lists the invalid fields and their errors.
func (e *InvalidValueError) Error() string {
	if len(e.fields) == 0 {
		return e.err.Error()
	}
	return strings.Join(e.fields, ", ") + ": " + e.err.Error()
}

// Unwrap returns the reason without the fields.
func (e *InvalidValueError) Unwrap() error { return e.err }

// Fields returns the names of the invalid fields.
func (e *InvalidValueError) Fields() []string { return e.fields }

// KeyWithError is a value whose operation failed.
type KeyWithError struct {
	Key          string
	TxnOperation TxnOperation
	Error        error
	// Reverting: the revert of the transaction failed to restore the value.
	Reverting bool
}

// TransactionError is the error of Commit: the transaction was not started (TxnInitError),
// or values failed (KVErrors).
type TransactionError struct {
	txnInitError error
	kvErrors     []KeyWithError
	reverted     bool
}

// NewTransactionError returns the error of a transaction; nil if there is none.
func NewTransactionError(initErr error, kvErrors []KeyWithError, reverted bool) error {
	if initErr == nil && len(kvErrors) == 0 {
		return nil
	}
	return &TransactionError{initErr, kvErrors, reverted}
}

// Error lists every failed value.
func (e *TransactionError) Error() string {
	switch {
	case errors.Is(e.txnInitError, ErrTxnWaitCanceled):
		return e.txnInitError.Error()
	case e.txnInitError != nil:
		return "transaction was not started: " + e.txnInitError.Error()
	}
	var b strings.Builder
	if e.reverted {
		b.WriteString("transaction was reverted: ")
	}
	e.list(&b, false)
	if len(e.NotReverted()) > 0 {
		b.WriteString("; not all of it could be reverted: ")
		e.list(&b, true)
	}
	return b.String()
}

func (e *TransactionError) list(b *strings.Builder, reverting bool) {
	between := ""
	for _, kv := range e.kvErrors {
		if kv.Reverting == reverting {
			fmt.Fprintf(b, "%s%s %s: %v", between, strings.ToLower(kv.TxnOperation.String()), kv.Key, kv.Error)
			between = "; "
		}
	}
}

// NotReverted lists the values that the revert of the transaction could not restore.
func (e *TransactionError) NotReverted() (kvs []KeyWithError) {
	for _, kv := range e.kvErrors {
		if kv.Reverting {
			kvs = append(kvs, kv)
		}
	}
	return kvs
}

// Unwrap lets errors.Is and errors.As look into all causes.
func (e *TransactionError) Unwrap() []error {
	if e.txnInitError != nil {
		return []error{e.txnInitError}
	}
	errs := make([]error, len(e.kvErrors))
	for i, kv := range e.kvErrors {
		errs[i] = kv.Error
	}
	return errs
}

// GetTxnInitError is the reason why the transaction was not started, or nil.
func (e *TransactionError) GetTxnInitError() error { return e.txnInitError }

// GetKVErrors lists the values that failed.
func (e *TransactionError) GetKVErrors() []KeyWithError { return e.kvErrors }

// Reverted reports whether the transaction was undone, except for the values in
// NotReverted.
func (e *TransactionError) Reverted() bool { return e.reverted }

// UnfinishedError is an ErrTxnWaitCanceled of Commit.
type UnfinishedError struct {
	cause error
	wait  func(ctx context.Context) (seqNum uint64, err error)
}

// NewUnfinishedError returns the error for a caller who stopped waiting; wait waits on.
func NewUnfinishedError(cause error, wait func(ctx context.Context) (seqNum uint64, err error)) *UnfinishedError {
	return &UnfinishedError{cause, wait}
}

// Error says why the wait ended.
func (e *UnfinishedError) Error() string {
	return ErrTxnWaitCanceled.Error() + ": " + e.cause.Error()
}

// Unwrap returns ErrTxnWaitCanceled and why the caller stopped waiting.
func (e *UnfinishedError) Unwrap() []error { return []error{ErrTxnWaitCanceled, e.cause} }

// Wait waits for the end of the transaction, and returns the results of Commit.
// Call it once. If ctx ends before, its cause is the error.
func (e *UnfinishedError) Wait(ctx context.Context) (seqNum uint64, err error) { return e.wait(ctx) }

// InvalidMessageError is one message that failed semantic validation.
type InvalidMessageError struct {
	Message       proto.Message
	ParentMessage proto.Message // the base of a derived value, or nil
	InvalidFields []string
	Err           error
}

// Error says which message is invalid and why.
func (e *InvalidMessageError) Error() string {
	return fmt.Sprintf("invalid %s: %v", e.Message.ProtoReflect().Descriptor().FullName(), e.Err)
}

// Unwrap returns the reason.
func (e *InvalidMessageError) Unwrap() error { return e.Err }

// InvalidMessagesError lists all messages that failed semantic validation.
type InvalidMessagesError struct{ MessageErrors []*InvalidMessageError }

// Error lists all invalid messages.
func (e *InvalidMessagesError) Error() string {
	texts := make([]string, len(e.MessageErrors))
	for i, m := range e.MessageErrors {
		texts[i] = m.Error()
	}
	return strings.Join(texts, "; ")
}

package item

import (
	"context"
	"slices"

	"go.fd.io/govpp/api"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Variant is one way in which VPP handles the entries of a table.
type Variant[E any] struct {
	// Change returns the request that adds or removes an entry, and a message for the
	// reply. Additions must have messages of the same types for all entries, and removals.
	Change func(e E, add bool) (request, reply api.Message)
	// Requests takes the place of Change where one request is not enough. It returns the requests
	// that turn old into e, in their order, and messages for the replies. old is nil to add an
	// entry, e is nil to remove one. VPP gets all of them, whatever it answers; after an addition
	// that fails the entry is removed.
	Requests func(old, e *E) (requests, replies []api.Message)
	// Dumps list the entries, all of them together.
	Dumps []Dump[E]
	// Unlisted says that VPP has no request that lists the entries. The agent then lists those
	// that it added in the session; another agent adds them again.
	Unlisted bool
	// Reset returns requests that are sent before an entry is added to a VPP that may have it,
	// and messages for the replies. Without the entry they succeed, or VPP answers with one of
	// Entry.Gone. It is for a VPP that keeps entries of deleted interfaces, or that adds an
	// entry twice. Optional.
	Reset func(e E) (requests, replies []api.Message)
}

// undo returns the requests that remove an entry whose addition VPP refused, if it may have a
// part of it, or all, and no dump shows that.
func (v Variant[E]) undo(e E) (requests, replies []api.Message) {
	switch {
	case v.Requests != nil:
		return v.Requests(&e, nil)
	case v.Unlisted && v.Reset != nil:
		return v.Reset(e)
	}
	return nil, nil
}

// requests returns the requests that turn old into e, as Requests does.
func (v *Variant[E]) requests(old, e *E) (requests, replies []api.Message) {
	if v.Requests != nil {
		return v.Requests(old, e)
	}
	var request, reply api.Message
	if e != nil {
		request, reply = v.Change(*e, true)
	} else {
		request, reply = v.Change(*old, false)
	}
	return []api.Message{request}, []api.Message{reply}
}

// Dump is a request that lists entries.
type Dump[E any] struct {
	messages []api.Message
	read     func(ctx context.Context, v *session.VPP) ([]E, error)
}

// List returns the dump with a request. entry translates a record; it returns false for
// those that are no entries.
func List[D api.Message, E any](request api.Message, entry func(D) (E, bool)) Dump[E] {
	var details D
	return Dump[E]{
		messages: []api.Message{request, details},
		read: func(ctx context.Context, v *session.VPP) (out []E, err error) {
			err = session.Each(ctx, v, request, func(d D) {
				if e, ok := entry(d); ok {
					out = append(out, e)
				}
			})
			return out, err
		},
	}
}

// Completed is a dump with a function that adds what other requests return about the entries.
func Completed[E any](d Dump[E], add func(ctx context.Context, v *session.VPP, all []E) error) Dump[E] {
	return Dump[E]{messages: d.messages, read: func(ctx context.Context, v *session.VPP) ([]E, error) {
		all, err := d.read(ctx, v)
		if err == nil {
			err = add(ctx, v, all)
		}
		return all, err
	}}
}

// ListWith returns the dump that a function makes with several requests. messages are those that it
// needs.
func ListWith[E any](read func(ctx context.Context, v *session.VPP) ([]E, error), messages ...api.Message) Dump[E] {
	return Dump[E]{messages, read}
}

// ListFrom is List for a ..._get request Q, whose reply R reports where to continue.
func ListFrom[Q, R any, D api.Message, E any, PQ interface {
	*Q
	api.Message
}, PR interface {
	*R
	api.Message
}](entry func(D) (E, bool)) Dump[E] {
	return ListCursor(func() (request, reply api.Message) { return PQ(new(Q)), PR(new(R)) }, entry)
}

// ListEach returns the dump that sends one request for every record of another dump, such as
// for the entries of every table.
func ListEach[P any, PP interface {
	*P
	api.Message
}, D api.Message, E any](parents api.Message, request func(PP) api.Message, entry func(D) (E, bool)) Dump[E] {
	var details D
	return Dump[E]{
		messages: []api.Message{parents, PP(nil), request(new(P)), details},
		read: func(ctx context.Context, v *session.VPP) (out []E, err error) {
			all, err := session.Dump[PP](ctx, v, parents)
			if err != nil {
				return nil, err
			}
			for _, parent := range all {
				found, err := List(request(parent), entry).read(ctx, v)
				if err != nil {
					return nil, err
				}
				out = append(out, found...)
			}
			return out, nil
		},
	}
}

// ListCursor is ListFrom for requests with fields.
func ListCursor[D api.Message, E any](messages func() (request, reply api.Message), entry func(D) (E, bool)) Dump[E] {
	var details D
	return Dump[E]{
		messages: append(pair(messages()), details),
		read: func(ctx context.Context, v *session.VPP) (out []E, err error) {
			request, reply := messages()
			all, err := session.Cursor[D](ctx, v, request, reply)
			for _, d := range all {
				if e, ok := entry(d); ok {
					out = append(out, e)
				}
			}
			return out, err
		},
	}
}

// dumpAll returns the records of several dumps.
func dumpAll[E any](ctx context.Context, v *session.VPP, dumps []Dump[E]) (all []E, err error) {
	for _, dump := range dumps {
		found, err := dump.read(ctx, v)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Listed returns the entries that VPP lists; none if it lacks the operation.
func Listed[E any](ctx context.Context, vpp *session.VPP, operation *session.Operation[Variant[E]]) ([]E, error) {
	do, err := operation.On(vpp)
	if err != nil {
		return nil, IgnoreUnsupported(err)
	}
	return dumpAll(ctx, vpp, do.Dumps)
}

// Declare declares how VPP handles entries, like session.Declare; the newest variant comes
// first. The messages that a variant needs are those that it sends.
func Declare[E any](item, plugin string, variants ...Variant[E]) *session.Operation[Variant[E]] {
	all := make([]binding.Variant[Variant[E]], len(variants))
	for i, v := range variants {
		var zero E
		add, addReplies := v.requests(nil, &zero)
		needs := slices.Concat(add, addReplies)
		if remove, replies := v.requests(&zero, nil); remove[0].GetMessageName() != add[0].GetMessageName() {
			needs = slices.Concat(needs, remove, replies)
		}
		if v.Reset != nil {
			requests, replies := v.Reset(zero)
			needs = slices.Concat(needs, requests, replies)
		}
		all[i] = session.Variant(v, append(needs, messagesOf(v.Dumps)...)...)
	}
	return session.Declare(item, plugin, all...)
}

func messagesOf[E any](dumps []Dump[E]) (out []api.Message) {
	for _, d := range dumps {
		out = append(out, d.messages...)
	}
	return out
}

package binapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"go.fd.io/govpp/api"
)

// records is the receiver of a dump: any number of records, ended by one
// message.
type records struct {
	box    *mailbox
	ends   func(id uint16) bool
	last   api.Message // decoded from the ending message unless nil
	header int
}

func (r *records) receive(id uint16, payload []byte) bool {
	if !r.ends(id) {
		return !r.box.put(payload)
	}
	var err error
	if r.last != nil {
		err = decode(payload, r.last, r.header)
	}
	r.box.end(err)
	return true
}

func (r *records) fail(err error) { r.box.end(err) }

// Dump sends a ..._dump request with a control_ping of the same context behind
// it, and calls each for every record up to the ping's reply, in the caller's
// goroutine and while VPP is still sending. newRecord makes the message that a
// record is decoded into. An error of each ends the dump and is returned. If
// Dump returns an error, the records seen are not all there are.
//
// Dumps go over a connection of their own; see dumpConn.
func (c *Conn) Dump(ctx context.Context, req api.Message, newRecord func() api.Message, each func(api.Message) error) error {
	if _, err := c.prepare(req); err != nil {
		return err
	}
	c, err := c.forDumps(ctx)
	if err != nil {
		return &RequestError{Message: req.GetMessageName(), Err: err}
	}
	r, err := c.prepare(req)
	if err != nil {
		return err
	}
	r.ping = true
	to := &records{box: newMailbox(c.opts.MaxQueue), ends: func(id uint16) bool { return id == c.pingReplyID }}
	return c.receiveRecords(ctx, r, to, newRecord, each)
}

// Page sends a request of the kind ..._get, which VPP answers with records and
// one reply that ends them, and calls each like Dump does. last is filled with
// the ending reply: its retval EAGAIN says that there is more, from the cursor
// in the reply on. See Cursor for the whole.
func (c *Conn) Page(ctx context.Context, req, last api.Message, newRecord func() api.Message, each func(api.Message) error) error {
	if _, err := c.prepare(req); err != nil {
		return err
	}
	c, err := c.forDumps(ctx)
	if err != nil {
		return &RequestError{Message: req.GetMessageName(), Err: err}
	}
	r, err := c.prepare(req)
	if err != nil {
		return err
	}
	info, err := c.table.typeOf(last)
	if err != nil {
		return &RequestError{Message: r.info.name, Err: fmt.Errorf("reply: %w", err)}
	}
	if !info.known {
		return &RequestError{Message: r.info.name, Err: fmt.Errorf("%w (%s_%s)", ErrUnknownMessage, info.name, info.crc)}
	}
	// VPP may put the ID of another reply on the end, as lcp_itf_pair_get_v2 does,
	// or the ID of the request; the records are never replies.
	ends := func(id uint16) bool {
		return id == info.id || id == r.info.id || strings.HasSuffix(withoutCRC(c.table.Name(id)), "_reply")
	}
	to := &records{box: newMailbox(c.opts.MaxQueue), ends: ends, last: last, header: info.header}
	return c.receiveRecords(ctx, r, to, newRecord, each)
}

func (c *Conn) receiveRecords(ctx context.Context, r request, to *records, newRecord func() api.Message, each func(api.Message) error) error {
	info, err := c.table.typeOf(newRecord())
	if err != nil {
		return &RequestError{Message: r.info.name, Err: fmt.Errorf("record: %w", err)}
	}
	if !info.known {
		return &RequestError{Message: r.info.name, Err: fmt.Errorf("%w (%s_%s)", ErrUnknownMessage, info.name, info.crc)}
	}
	reqContext, err := c.submit(ctx, r, to)
	if err != nil {
		return err
	}
	defer c.abandon(reqContext)
	for {
		chunks, ended, endErr := to.box.take()
		err := eachMessage(chunks, func(payload []byte) error {
			record := newRecord()
			if err := decode(payload, record, info.header); err != nil {
				return &RequestError{Message: r.info.name, Err: err}
			}
			if c.opts.Records != nil {
				c.opts.Records.Add(1)
			}
			return each(record)
		})
		if err != nil {
			return err
		}
		if ended {
			return asRequestError(endErr, r.info.name)
		}
		select {
		case <-to.box.ready:
		case <-ctx.Done():
			return &RequestError{Message: r.info.name, Sent: true, Err: cmp.Or(c.Err(), canceled(ctx))}
		}
	}
}

func asRequestError(err error, name string) error {
	var re *RequestError
	if err == nil || errors.As(err, &re) {
		return err
	}
	return &RequestError{Message: name, Sent: true, Err: err}
}

// Dump returns all records that a ..._dump request yields. D is the pointer
// type of the ..._details message:
//
//	ifs, err := binapi.Dump[*interfaces.SwInterfaceDetails](ctx, conn, &interfaces.SwInterfaceDump{})
func Dump[D api.Message](ctx context.Context, c Client, req api.Message) ([]D, error) {
	var all []D
	err := c.Dump(ctx, req, newOf[D](), func(m api.Message) error {
		all = append(all, m.(D))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Each calls each for every record that a ..._dump request yields, as they come: of
// a million nothing is kept but what each keeps. The record is used again when
// each returns. An error of each ends the dump and is returned as it is.
func Each[D api.Message](ctx context.Context, c Client, req api.Message, each func(D) error) error {
	record := newOf[D]()()
	return c.Dump(ctx, req, func() api.Message { return record }, func(m api.Message) error { return each(m.(D)) })
}

// Cursor returns all records that a ..._get request yields, asking again from
// the reply's cursor while VPP answers EAGAIN. D is the pointer type of the
// ..._details message; req and reply must have a field Cursor. req is modified.
func Cursor[D api.Message](ctx context.Context, c Client, req, reply api.Message) ([]D, error) {
	from, to, retval := cursorOf(req), cursorOf(reply), fieldOf(reply, "Retval", reflect.Int32)
	if !from.IsValid() || !to.IsValid() || !retval.IsValid() {
		return nil, fmt.Errorf("%s: expected a request and a reply with a cursor", req.GetMessageName())
	}
	var all []D
	for {
		err := c.Page(ctx, req, reply, newOf[D](), func(m api.Message) error {
			all = append(all, m.(D))
			return nil
		})
		if err != nil {
			return nil, err
		}
		switch answer := api.VPPApiError(retval.Int()); {
		case answer == 0:
			return all, nil
		case answer != api.EAGAIN:
			return nil, &RetvalError{Message: req.GetMessageName(), Retval: answer}
		case from.Uint() == to.Uint():
			return nil, fmt.Errorf("%s: %w: cursor %d does not advance", req.GetMessageName(), ErrProtocol, to.Uint())
		}
		from.SetUint(to.Uint())
	}
}

func cursorOf(msg api.Message) reflect.Value { return fieldOf(msg, "Cursor", reflect.Uint32) }

func fieldOf(msg api.Message, name string, kind reflect.Kind) reflect.Value {
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}
	}
	f := v.Elem().FieldByName(name)
	if !f.IsValid() || f.Kind() != kind {
		return reflect.Value{}
	}
	return f
}

// newOf returns a maker of messages of the pointer type D.
func newOf[D api.Message]() func() api.Message {
	t := reflect.TypeFor[D]().Elem()
	return func() api.Message { return reflect.New(t).Interface().(api.Message) }
}

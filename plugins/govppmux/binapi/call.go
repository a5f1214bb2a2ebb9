package binapi

import (
	"context"
	"fmt"
	"reflect"

	"go.fd.io/govpp/api"
)

// call is the receiver of a single reply.
type call struct {
	done    chan struct{}
	reply   api.Message
	replyTo string
	header  int
	retval  int
	err     error
	uses    uint32 // shows a Future that its call is gone
}

func (k *call) receive(_ uint16, payload []byte) bool {
	if err := decode(payload, k.reply, k.header); err != nil {
		k.err = &RequestError{Message: k.replyTo, Sent: true, Err: err}
	}
	k.done <- struct{}{}
	return true
}

func (k *call) fail(err error) {
	k.err = err
	k.done <- struct{}{}
}

func (c *Conn) recycle(k *call) {
	k.reply, k.err = nil, nil
	k.uses++
	c.calls.Put(k)
}

// Future is a request in flight. Wait or Result must be called once.
type Future struct {
	conn       *Conn
	ctx        context.Context // of the request; ends the waiting
	call       *call
	uses       uint32
	reqContext uint32
	err        error
}

// FailedFuture returns a Future that ended with err before it was sent.
func FailedFuture(err error) Future { return Future{err: err} }

// Send queues a request and returns without waiting for the reply, so that one
// goroutine can have many requests in flight. It waits only for a place in the
// window. reply is filled before Wait or Result returns and must not be
// touched until then.
func (c *Conn) Send(ctx context.Context, req, reply api.Message) Future {
	r, err := c.prepare(req)
	if err != nil {
		return FailedFuture(err)
	}
	info, err := c.table.typeOf(reply)
	if err != nil {
		return FailedFuture(&RequestError{Message: r.info.name, Err: fmt.Errorf("reply: %w", err)})
	}
	if !info.known {
		return FailedFuture(&RequestError{Message: r.info.name, Err: fmt.Errorf("%w (%s_%s)", ErrUnknownMessage, info.name, info.crc)})
	}
	k := c.calls.Get().(*call)
	k.reply, k.replyTo, k.header, k.retval = reply, r.info.name, info.header, info.retval
	reqContext, err := c.submit(ctx, r, k)
	if err != nil {
		c.recycle(k)
		return FailedFuture(err)
	}
	return Future{conn: c, ctx: ctx, call: k, uses: k.uses, reqContext: reqContext}
}

// Wait waits for the reply as long as the context given to Send allows. It
// returns errors of the transport only: the retval of the reply is the
// caller's to check.
func (f Future) Wait() error {
	_, _, err := f.wait()
	return err
}

// Result waits like Wait and checks the retval of the reply: a RetvalError
// holds what VPP answered.
func (f Future) Result() error {
	name, retval, err := f.wait()
	if err == nil && retval != 0 {
		err = &RetvalError{Message: name, Retval: api.VPPApiError(retval)}
	}
	return err
}

func (f Future) wait() (name string, retval int32, err error) {
	if f.err != nil {
		return "", 0, f.err
	}
	k := f.call
	if k == nil || k.uses != f.uses {
		return "", 0, fmt.Errorf("wait for reply: future already used: %w", ErrClosed)
	}
	select {
	case <-k.done:
	case <-f.ctx.Done():
		if f.conn.Err() == nil && f.conn.abandon(f.reqContext) {
			err = &RequestError{Message: k.replyTo, Sent: true, Err: canceled(f.ctx)}
			f.conn.recycle(k)
			return "", 0, err
		}
		<-k.done
	}
	name, err = k.replyTo, k.err
	if err == nil {
		retval = k.retvalOf()
	}
	f.conn.recycle(k)
	return name, retval, err
}

// retvalOf reads the Retval field of the reply, 0 if it has none.
func (k *call) retvalOf() int32 {
	if k.retval < 0 {
		return 0
	}
	return int32(reflect.ValueOf(k.reply).Elem().Field(k.retval).Int())
}

// Invoke sends a request and waits for its reply. It returns errors of the
// transport only; the generated RPC clients check the retval themselves.
func (c *Conn) Invoke(ctx context.Context, req, reply api.Message) error {
	return c.Send(ctx, req, reply).Wait()
}

// Call sends a request, waits for its reply and checks the retval.
func (c *Conn) Call(ctx context.Context, req, reply api.Message) error {
	return c.Send(ctx, req, reply).Result()
}

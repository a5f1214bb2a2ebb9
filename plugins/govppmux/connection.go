package govppmux

import (
	"context"
	"time"

	"go.fd.io/govpp/api"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
)

// Connection leads to whatever VPP is connected at the moment of a call. What
// was begun in a session ends with it, with an error in which errors.Is finds
// binapi.ErrDisconnected; event watches continue in the next one. All methods
// may be called concurrently.
type Connection struct {
	plugin *Plugin
}

var _ binapi.Client = (*Connection)(nil)

// current returns the connection of the session that is up.
func (c *Connection) current() (*binapi.Conn, error) {
	session, _ := c.plugin.state.get()
	if !session.Up {
		return nil, session.Err
	}
	return session.Conn, nil
}

// for a request, the error of having no VPP names the request.
func (c *Connection) rejected(req api.Message, err error) error {
	c.plugin.rejected.Add(1)
	return &binapi.RequestError{Message: req.GetMessageName(), Err: err}
}

// patiently is current for requests that the configuration lets wait.
func (c *Connection) patiently(ctx context.Context) (*binapi.Conn, error) {
	cfg := &c.plugin.cfg
	conn, err := c.current()
	if err == nil || cfg.RetryRequestCount == 0 {
		return conn, err
	}
	wait, cancel := context.WithTimeout(ctx, time.Duration(cfg.RetryRequestCount)*cfg.RetryRequestTimeout)
	defer cancel()
	session, waitErr := c.plugin.WaitSession(wait, 0)
	switch {
	case waitErr == nil:
		return session.Conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, session.Err
}

// Err returns nil while a VPP is connected, else why none is.
func (c *Connection) Err() error {
	_, err := c.current()
	return err
}

// Has reports whether the connected VPP knows the message by name and CRC; it
// is false while none is connected. Prefer Session.Conn for decisions that
// must hold for one session.
func (c *Connection) Has(msg api.Message) bool {
	conn, err := c.current()
	return err == nil && conn.Has(msg)
}

// Invoke sends a request and waits for its reply, without looking at the retval.
func (c *Connection) Invoke(ctx context.Context, req, reply api.Message) error {
	conn, err := c.patiently(ctx)
	if err != nil {
		return c.rejected(req, err)
	}
	return conn.Invoke(ctx, req, reply)
}

// Call sends a request, waits for its reply and checks the retval.
func (c *Connection) Call(ctx context.Context, req, reply api.Message) error {
	conn, err := c.patiently(ctx)
	if err != nil {
		return c.rejected(req, err)
	}
	return conn.Call(ctx, req, reply)
}

// Send sends a request without waiting for the reply.
func (c *Connection) Send(ctx context.Context, req, reply api.Message) binapi.Future {
	conn, err := c.current()
	if err != nil {
		return binapi.FailedFuture(c.rejected(req, err))
	}
	return conn.Send(ctx, req, reply)
}

// Dump calls each for every record that a ..._dump request yields.
func (c *Connection) Dump(ctx context.Context, req api.Message, newRecord func() api.Message, each func(api.Message) error) error {
	conn, err := c.current()
	if err != nil {
		return c.rejected(req, err)
	}
	return conn.Dump(ctx, req, newRecord, each)
}

// Page calls each for the records of one ..._get request and fills last.
func (c *Connection) Page(ctx context.Context, req, last api.Message, newRecord func() api.Message, each func(api.Message) error) error {
	conn, err := c.current()
	if err != nil {
		return c.rejected(req, err)
	}
	return conn.Page(ctx, req, last, newRecord, each)
}

// NewStream opens a stream in the current session.
func (c *Connection) NewStream(ctx context.Context, options ...api.StreamOption) (api.Stream, error) {
	conn, err := c.current()
	if err != nil {
		return nil, err
	}
	return conn.NewStream(ctx, options...)
}

// WatchEvent watches events in this and all later sessions. The request that
// makes VPP send them must be sent in each session; Subscribe does it.
func (c *Connection) WatchEvent(ctx context.Context, event api.Message) (api.Watcher, error) {
	return c.plugin.Subscribe(ctx, Subscription{Event: event})
}

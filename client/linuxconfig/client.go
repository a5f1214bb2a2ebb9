// Package linuxconfig is the client with a method for every type of item in Linux:
//
//	c := linuxconfig.New(ctx, client.NewLocal(orchestrator))
//	err := c.DataChangeRequest("example").
//		Put().Interface(loop1).
//		Delete().Interface("loop2").
//		Send().ReceiveReply()
package linuxconfig

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/client"
)

// Client makes requests. It is safe for concurrent use.
type Client struct {
	ctx    context.Context
	client client.Client
}

// New returns a client whose requests end with ctx at the latest.
func New(ctx context.Context, c client.Client) *Client { return &Client{ctx, c} }

// DataChangeRequest returns an empty change. The history of the agent records
// caller as its author.
func (c *Client) DataChangeRequest(caller string) *Request {
	return &Request{ctx: c.ctx, change: c.client.ChangeRequest().Describe(caller)}
}

// DataResyncRequest returns an empty configuration, which replaces the
// configuration of the local clients. The history of the agent records caller
// as its author.
func (c *Client) DataResyncRequest(caller string) *Resync {
	return &Resync{c.DataChangeRequest(caller)}
}

// Request collects changes, which are sent as one transaction. The last one for
// an item counts. It must not be used concurrently.
type Request struct {
	ctx    context.Context // of the client
	change *client.ChangeRequest
}

// Put continues with items to add or to change.
func (r *Request) Put() *Put { return &Put{r} }

// Delete continues with items to remove.
func (r *Request) Delete() *Delete { return &Delete{r} }

// Send executes the changes and waits until that is done.
func (r *Request) Send() Reply {
	results, err := r.change.Send(r.ctx)
	return Reply{results, err}
}

func (r *Request) put(v proto.Message)    { r.change.Update(v) }
func (r *Request) remove(v proto.Message) { r.change.Delete(v) }

func (r *Request) replace() Reply {
	results, err := r.change.Replace().Send(r.ctx)
	return Reply{results, err}
}

// Reply is the result of a request.
type Reply struct {
	// Results are the results of the items.
	Results []client.Result
	err     error
}

// ReceiveReply returns the error of the request: that it could not be made, or
// that items failed, while the others took effect.
func (r Reply) ReceiveReply() error { return r.err }

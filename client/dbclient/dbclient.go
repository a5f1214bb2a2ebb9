// Package dbclient writes configurations into the key-value store that an agent watches:
//
//	broker := etcdPlugin.NewBroker(serviceLabel.GetAgentPrefix())
//	c := vppconfig.New(ctx, dbclient.New(broker, allmodels.MustSet()))
//	err := c.DataChangeRequest("example").Put().Interface(loop1).Send().ReceiveReply()
//
// Each request is one transaction of the store. It has no results: the agent need not run.
package dbclient

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/client"
	"github.com/tenuto-dev/tenuto/client/vppconfig"
	"github.com/tenuto-dev/tenuto/infra/kv/keyval"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
)

// ErrRevert is the error of a request that is to be reverted, which a store cannot do.
var ErrRevert = errors.New("a request to a store cannot be reverted: its changes are applied later")

// Client writes into a store. It may be used concurrently.
type Client struct {
	broker keyval.ProtoBroker
	set    *models.Set
}

// New returns a client. The broker must have the prefix of the agent
// (servicelabel.ReaderAPI, GetAgentPrefix).
func New(broker keyval.ProtoBroker, set *models.Set) *Client { return &Client{broker, set} }

// DataChangeRequestDB returns an empty change of items of VPP and of Linux.
func DataChangeRequestDB(caller string, broker keyval.ProtoBroker) *vppconfig.Request {
	return vppconfig.New(context.Background(), New(broker, allmodels.MustSet())).DataChangeRequest(caller)
}

// DataResyncRequestDB returns an empty configuration, which replaces everything that the
// store has for the agent.
func DataResyncRequestDB(caller string, broker keyval.ProtoBroker) *vppconfig.Resync {
	return vppconfig.New(context.Background(), New(broker, allmodels.MustSet())).DataResyncRequest(caller)
}

// ChangeRequest returns an empty change. Replace makes it remove all other items of the
// client's models.
func (c *Client) ChangeRequest() *client.ChangeRequest {
	return client.NewChangeRequest(func(m proto.Message) (string, error) { return c.set.KeyOf(m) }, c.send)
}

func (c *Client) send(ctx context.Context, changes client.Changes) ([]client.Result, error) {
	if changes.Revert {
		return nil, ErrRevert
	}
	txn := c.broker.NewTxn()
	keep := make(map[string]bool, len(changes.Items))
	for _, ch := range changes.Items {
		keep[ch.Key] = true
		txn.Put(ch.Key, ch.Value)
	}
	if changes.Resync {
		if err := c.removeOthers(txn, keep); err != nil {
			return nil, err
		}
	}
	if err := txn.Commit(ctx); err != nil {
		return nil, fmt.Errorf("store the configuration: %w", err)
	}
	return nil, nil
}

func (c *Client) removeOthers(txn keyval.ProtoTxn, keep map[string]bool) error {
	keys, err := c.broker.ListKeys("")
	if err != nil {
		return err
	}
	for {
		key, _, stop := keys.GetNext()
		if stop {
			return keys.Close()
		}
		if _, known := c.set.ForKey(key); known && !keep[key] {
			txn.Delete(key)
		}
	}
}

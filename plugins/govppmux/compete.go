package govppmux

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.fd.io/govpp/binapi/vlib"

	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
)

// Identity knows which agent this is.
type Identity interface{ Identity() holder.Identity }

// clientName is the name of connections to a VPP that has one agent only.
const clientName = "tenuto"

// lookAgain is the time between two looks at other agents that compete for VPP, and
// maxLooks how many there are until this one yields.
const (
	lookAgain = 20 * time.Millisecond
	maxLooks  = 50
)

// shared reports whether other agents may use the same VPP.
func (p *Plugin) shared() bool {
	return p.Identity != nil && (p.Local == nil || p.Local.Socket() == "")
}

// clientOptions are the settings of the connection.
func (p *Plugin) clientOptions(name string) binapi.Options {
	opts := p.cfg.clientOptions(name)
	opts.ConnectTimeout, opts.CloseTimeout = p.patience, p.closeTimeout
	opts.Records = &p.records
	return opts
}

// dial connects to VPP, unless another agent with the same label holds it: then the error
// is a *holder.HeldError.
func (p *Plugin) dial(ctx context.Context) (*binapi.Conn, error) {
	if !p.shared() {
		return binapi.Dial(ctx, p.clientOptions(clientName))
	}
	id := p.Identity.Identity()
	candidate, err := binapi.Dial(ctx, p.clientOptions(claimOf(competes, id).name()))
	if err != nil {
		return nil, err
	}
	conn, err := p.compete(ctx, id, candidate)
	if err := candidate.Close(); err != nil { // not before conn is in sight
		p.Log.Debug("closing a connection to VPP", "error", err)
	}
	return conn, err
}

// compete looks at the other clients of VPP until this agent may take it, or has to yield.
func (p *Plugin) compete(ctx context.Context, id holder.Identity, candidate *binapi.Conn) (*binapi.Conn, error) {
	me, reaped := claimOf(competes, id), false
	for looks := 0; ; looks++ {
		all, err := p.clients(ctx, candidate)
		if err != nil {
			return nil, err
		}
		verdict, other := me.judge(all)
		if looks == maxLooks && verdict == waits { // the other one does not get on
			verdict = yields
		}
		switch verdict {
		case yields:
			if !reaped { // the other one may have ended
				reaped = true
				if candidate.Reap(ctx); !sleep(ctx, lookAgain) {
					return nil, ctx.Err()
				}
				continue
			}
			p.yielded, p.yieldedTo = time.Now(), other
			return nil, &holder.HeldError{Label: id.Label, Holder: other.String()}
		case waits:
			if !sleep(ctx, lookAgain) {
				return nil, ctx.Err()
			}
			continue
		}
		// The holder may be about to connect again.
		if !p.yielded.IsZero() && time.Since(p.yielded) < 2*p.cfg.RetryConnectTimeout {
			return nil, &holder.HeldError{Label: id.Label, Holder: p.yieldedTo.String()}
		}
		p.yielded = time.Time{}
		p.neighbours(me, all)
		return binapi.Dial(ctx, p.clientOptions(claimOf(holds, id).name()))
	}
}

// clients asks VPP for its clients. Where it cannot say, no other agent is known.
func (p *Plugin) clients(ctx context.Context, conn *binapi.Conn) ([]claim, error) {
	reply := &vlib.CliInbandReply{}
	err := conn.Call(ctx, &vlib.CliInband{Cmd: "show api clients"}, reply)
	if err != nil && (ctx.Err() != nil || conn.Err() != nil) {
		return nil, fmt.Errorf("clients of VPP: %w", err)
	}
	all := claims(reply.Reply)
	if err == nil && len(all) == 0 {
		err = errors.New(`"show api clients" does not list this agent`)
	}
	if err != nil && !p.blind {
		p.blind = true
		p.Log.Warn("agents with the same label are not kept from this VPP: it does not say who its clients are", "error", err)
	}
	return all, nil
}

// neighbours logs which agents with other labels use the same VPP.
func (p *Plugin) neighbours(me claim, all []claim) {
	var others []string
	for _, o := range all {
		if o.label != me.label && o.role == holds {
			others = append(others, o.String())
		}
	}
	if len(others) > 0 {
		p.Log.Info("agents with other labels use this VPP as well", "agents", others)
	}
}

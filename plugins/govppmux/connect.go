package govppmux

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/vpe"

	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
)

// firstPause is the pause after the first failed attempt to connect; it
// doubles up to the configured one.
const firstPause = 20 * time.Millisecond

var errNotTried = fmt.Errorf("%w: not tried to connect yet", binapi.ErrDisconnected)

// connectForever keeps a session up until ctx ends. A VPP that does not answer ends
// the session, like one that has ended: the pending requests have an unknown
// outcome. The next session begins when none of them can take effect later.
func (p *Plugin) connectForever(ctx context.Context) {
	failures, unanswered := 0, false
	for {
		session, err := p.connect(ctx, unanswered)
		if ctx.Err() != nil {
			p.end(session.Conn)
			return
		}
		if err != nil {
			failures++
			p.beMorePatient(err)
			p.down(err, failures)
		} else {
			p.patience = 0
			p.up(session)
			err = p.supervise(ctx, session.Conn)
			session.Conn.Stall(err)
			if ctx.Err() != nil {
				p.end(session.Conn)
				return
			}
			failures++ // of a VPP that dies again and again
			if time.Since(session.Since) > p.cfg.RetryConnectTimeout {
				failures = 0
			}
			unanswered = session.Conn.Unanswered()
			p.totals.reconnects.Add(1)
			p.down(err, failures)
			err = session.Conn.Drain(ctx)
			p.end(session.Conn)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				p.down(err, failures)
			}
		}
		if !sleep(ctx, pause(failures, p.cfg.RetryConnectTimeout)) {
			return
		}
	}
}

// maxPatience is the longest time that VPP gets to answer a client that connects.
const maxPatience = time.Minute

// beMorePatient gives VPP more time at the next attempt if it did not answer in time. Each attempt
// leaves a connection behind that VPP has to remove, see binapi.Conn.Close.
func (p *Plugin) beMorePatient(err error) {
	if !errors.Is(err, context.DeadlineExceeded) {
		p.patience = 0
		return
	}
	p.patience = min(2*max(p.patience, binapi.DefaultConnectTimeout), maxPatience)
}

// connect opens a connection and learns who answers. unanswered reports that requests
// of the last session have an unknown outcome.
func (p *Plugin) connect(ctx context.Context, unanswered bool) (Session, error) {
	last, _ := p.state.get()
	p.totals.attempts.Add(1)
	conn, err := p.dial(ctx)
	if err != nil {
		return Session{}, err
	}
	session, err := p.identify(ctx, conn, last)
	if err != nil {
		return Session{}, errors.Join(err, conn.Close())
	}
	session.Resync = session.Resync || unanswered
	return session, nil
}

// identify asks VPP for what a session reports.
func (p *Plugin) identify(ctx context.Context, conn *binapi.Conn, last Session) (Session, error) {
	version, ping := &vpe.ShowVersionReply{}, &memclnt.ControlPingReply{}
	if err := conn.Call(ctx, &vpe.ShowVersion{}, version); err != nil {
		return Session{}, err
	}
	if p.cfg.StrictCompat {
		if err := requireAll(conn, version.Version, append(p.Capabilities(), commandLine())); err != nil {
			return Session{}, err
		}
	}
	if err := conn.Call(ctx, &memclnt.ControlPing{}, ping); err != nil {
		return Session{}, err
	}
	sameProcess := last.Epoch > 0 && last.PID == ping.VpePID
	return Session{
		Epoch: last.Epoch + 1, Up: true, Since: time.Now(), Conn: conn,
		Version: Version{
			Program: version.Program, Version: version.Version,
			BuildDate: version.BuildDate, BuildDirectory: version.BuildDirectory,
		},
		PID:       ping.VpePID,
		Simulated: strings.Contains(version.Version, "simulated"),
		Resync:    p.cfg.ResyncAfterReconnect || !sameProcess,
	}, nil
}

// up publishes a session that begins.
func (p *Plugin) up(session Session) {
	p.totals.begin(session.Conn)
	p.Log.Info("connected to VPP", "version", session.Version.Version, "pid", session.PID,
		"epoch", session.Epoch, "simulated", session.Simulated, "socket", p.cfg.BinAPISocketPath)
	p.state.publish(session)
	p.reportUp(session) // when all know of the session: until its synchronisation the agent is not ready
}

func (p *Plugin) reportUp(s Session) {
	what := "VPP " + s.Version.Version
	if s.Simulated {
		what = "a simulated " + what
	}
	p.Health.OK(fmt.Sprintf("connected to %s, pid %d", what, s.PID))
}

// down publishes that no VPP is connected, or a new reason for it.
func (p *Plugin) down(err error, failures int) {
	if !errors.Is(err, binapi.ErrDisconnected) {
		err = fmt.Errorf("%w: %w", binapi.ErrDisconnected, err)
	}
	if limit := p.cfg.RetryConnectCount; limit > 0 && failures >= limit {
		p.Health.Failed(fmt.Sprintf("no VPP after %d attempts to connect", failures), err)
	} else if held := (*holder.HeldError)(nil); errors.As(err, &held) {
		p.Health.Degraded("VPP is not configured by this agent", held)
	} else if errors.Is(err, binapi.ErrReplyTimeout) {
		p.Health.Degraded("VPP does not answer since "+time.Now().Format(time.TimeOnly), err)
	} else {
		p.Health.Degraded("VPP is not connected", err)
	}
	last, _ := p.state.get()
	if !last.Up && last.Err != nil && last.Err.Error() == err.Error() {
		p.Log.Debug("VPP is still not connected", "error", err, "attempts", failures)
		return
	}
	p.Log.Warn("VPP is not connected", "error", err, "epoch", last.Epoch)
	session := Session{Epoch: last.Epoch, PID: last.PID, Since: last.Since, Err: err}
	if last.Up || last.Since.IsZero() {
		session.Since = time.Now()
	}
	p.state.publish(session)
}

// end closes a connection, if there is one, and keeps its counters.
func (p *Plugin) end(conn *binapi.Conn) {
	if conn == nil {
		return
	}
	if err := conn.Close(); err != nil {
		p.Log.Debug("closing the connection to VPP", "error", err)
	}
	p.totals.end(conn)
}

// supervise returns why a session ended: the connection closed, or VPP failed
// too many checks in a row.
func (p *Plugin) supervise(ctx context.Context, conn *binapi.Conn) error {
	var tick <-chan time.Time
	if p.cfg.HealthCheckProbeInterval > 0 {
		ticker := time.NewTicker(p.cfg.HealthCheckProbeInterval)
		defer ticker.Stop()
		tick = ticker.C
	}
	failed := 0
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-conn.Done():
			return conn.Err()
		case <-tick:
		}
		err := p.probe(ctx, conn)
		switch {
		case ctx.Err() != nil || conn.Err() != nil: // said above
		case err == nil && failed <= 1:
			failed = 0
		case err == nil:
			failed = 0
			session, _ := p.state.get()
			p.reportUp(session)
		case err != nil:
			failed++
			if failed >= p.cfg.HealthCheckThreshold {
				return fmt.Errorf("%w, failed checks in a row: %d: %w", binapi.ErrReplyTimeout, failed, err)
			}
			if failed > 1 { // a busy machine can be late once
				p.Health.Degraded(fmt.Sprintf("VPP does not answer, failed checks in a row: %d", failed), err)
			}
		}
	}
}

// probe checks that VPP does something. One that is busy with other requests
// of ours answers those first, which is as good.
func (p *Plugin) probe(ctx context.Context, conn *binapi.Conn) error {
	before := conn.Stats().BytesIn
	ctx, cancel := context.WithTimeout(ctx, p.cfg.HealthCheckReplyTimeout)
	defer cancel()
	err := conn.Invoke(ctx, &memclnt.ControlPing{}, &memclnt.ControlPingReply{})
	if err != nil && conn.Stats().BytesIn != before {
		return nil
	}
	return err
}

// pause is how long to wait before the next attempt: doubling with the
// failures up to a limit, and varied so that agents do not move in step.
func pause(failures int, limit time.Duration) time.Duration {
	d := limit
	if failures < 16 {
		d = min(limit, firstPause<<failures)
	}
	return d*3/4 + rand.N(d/4+1)
}

// sleep waits; it returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
